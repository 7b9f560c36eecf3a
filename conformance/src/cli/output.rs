//! Writing results: to a file whole or not at all, or to standard output.

use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use super::CliError;

/// Writes a report.
pub(super) fn write(output: Option<&Path>, text: &str) -> Result<(), CliError> {
    match output {
        Some(path) => replace(&resolved(path), text).map_err(|error| CliError::output(path, error)),
        None => print(text),
    }
}

/// Whether standard output is a terminal whose user has nothing against colours.
pub(super) fn wants_colour() -> bool {
    let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    !plain && io::stdout().is_terminal()
}

/// Prints to standard output; a reader that went away is no error.
pub(super) fn print(text: &str) -> Result<(), CliError> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(CliError::Stdout(error)),
        _ => Ok(()),
    }
}

/// Finds out before a long run whether its result will have a place to go.
pub(super) fn probe(path: &Path) -> Result<(), CliError> {
    let file = resolved(path);
    let probed = match target(&file) {
        Target::Special => fs::OpenOptions::new().write(true).open(&file).map(drop),
        Target::File(_) if file.is_dir() => Err(io::Error::from(io::ErrorKind::IsADirectory)),
        Target::File(folder) => new_file(folder).map(drop),
    };
    probed.map_err(|error| CliError::output(path, error))
}

/// The file behind links: renaming onto `/dev/stdout` or a link of the user's would replace the link.
fn resolved(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

enum Target<'a> {
    /// A device or pipe, which cannot be replaced.
    Special,
    /// A file, new or to be replaced, in this folder.
    File(&'a Path),
}

fn target(path: &Path) -> Target<'_> {
    match fs::metadata(path) {
        Ok(data) if !data.is_file() && !data.is_dir() => Target::Special,
        _ => Target::File(
            path.parent()
                .filter(|folder| !folder.as_os_str().is_empty())
                .unwrap_or(Path::new(".")),
        ),
    }
}

fn replace(path: &Path, text: &str) -> io::Result<()> {
    match target(path) {
        Target::Special => {
            let mut file = fs::OpenOptions::new().write(true).open(path)?;
            file.write_all(text.as_bytes())?;
            file.flush()
        }
        Target::File(folder) => {
            let mut file = new_file(folder)?;
            file.as_file_mut().write_all(text.as_bytes())?;
            file.as_file().sync_all()?;
            file.persist(path).map_err(|error| error.error)?;
            Ok(())
        }
    }
}

/// A temporary file with the permissions of an ordinary new one; the default is for its owner only.
fn new_file(folder: &Path) -> io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".report-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    // The system's own words where it has them; the library's hold the temporary name, which nobody asked for.
    fs::metadata(folder)?;
    builder
        .tempfile_in(folder)
        .map_err(|error| io::Error::from(error.kind()))
}

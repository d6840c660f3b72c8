//! The process of MinIO.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::child::wait_for;
use super::server::READY;
use super::{RunError, folder, last_words};

/// Serves until its input ends, as it does when the runner ends in any way. Ctrl-C reaches all processes of a terminal;
/// the shell stays, so that it ends the server.
const UNTIL_INPUT_ENDS: &str = "trap '' INT HUP; \"$@\" & read -r line; kill $!; wait";

/// A `minio server` over an empty folder, which is removed with it.
pub(super) struct MinioProcess {
    pub(super) endpoint: String,
    child: Child,
    data: std::path::PathBuf,
}

impl MinioProcess {
    /// Starts the program over a folder that is made for it. `command` has the environment with the credentials.
    pub(super) fn start(
        mut command: Command,
        program: &Path,
        data: &Path,
    ) -> Result<Self, RunError> {
        fs::create_dir_all(data).map_err(|error| folder::at(data, error))?;
        let address = free_address().map_err(|error| folder::at(program, error))?;
        let error = data.with_extension("error");
        let file = File::create(&error).map_err(|problem| folder::at(&error, problem))?;
        let output = file.try_clone().map_err(|problem| folder::at(&error, problem))?;
        command.args(["-c", UNTIL_INPUT_ENDS, "sh"]).arg(program).arg("server").arg(data);
        command.args(["--address", &address]).stdin(Stdio::piped()).stdout(output).stderr(file);
        let child = command.spawn().map_err(|error| folder::at(program, error))?;
        let process = Self { endpoint: format!("http://{address}"), child, data: data.to_owned() };
        match wait_for(READY, || is_ready(&address).ok().filter(|ready| *ready)) {
            Some(_) => Ok(process),
            None => Err(RunError::Command {
                command: "minio server".to_owned(),
                words: last_words(&fs::read_to_string(&error).unwrap_or_default()),
            }),
        }
    }
}

impl Drop for MinioProcess {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        // The shell ends after the server. The folder is temporary in any case.
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.data);
    }
}

/// Returns an address of this machine that nothing listens to.
fn free_address() -> io::Result<String> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string())
}

/// Returns true if the server answers, and not that it still starts.
fn is_ready(address: &str) -> io::Result<bool> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_secs(1)))?;
    write!(stream, "GET /minio/health/ready HTTP/1.0\r\nHost: {address}\r\n\r\n")?;
    let mut status = [0; 12];
    stream.read_exact(&mut status)?;
    Ok(status.starts_with(b"HTTP/1") && !status.ends_with(b"503"))
}

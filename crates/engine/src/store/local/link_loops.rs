//! Lists local folders that contain link loops: symbolic links to themselves or to a folder that contains them.
//!
//! [`LocalFileSystem`](object_store::local::LocalFileSystem) fails to list a folder with such a link, so that no
//! pattern finds anything there. This module leaves the link out and adds a note.

use std::path::{Path as FilePath, PathBuf};
use std::{fs, io};

use object_store::path::Path;
use object_store::{Error, ListResult, ObjectStore, ObjectStoreExt, Result};

use super::blocking;
use crate::context::notes::{Notes, some_of};

/// The texts of the system and the store below for a link loop.
const LOOPS: [&str; 2] = ["File system loop found", "Too many levels of symbolic links"];

/// Repeats a failed listing without link loops: all files below a folder if `deep`, or only the files and folders
/// directly in it. The links are named in `notes`.
///
/// # Errors
///
/// `error`, if a link loop was not its cause; those of the files.
pub(super) async fn without(
    files: &dyn ObjectStore,
    notes: &Notes,
    prefix: Option<&Path>,
    deep: bool,
    error: Error,
) -> Result<ListResult> {
    if !LOOPS.iter().any(|text| error.to_string().contains(text)) {
        return Err(error);
    }
    let root = format!("/{}", prefix.map_or("", Path::as_ref));
    let walked = blocking(move || {
        let mut walked = Walk { deep, ..Walk::default() };
        walked.folder(FilePath::new(&root)).map(|()| walked).map_err(|_| error)
    });
    let Walk { files: paths, folders, mut loops, .. } = walked.await?;
    loops.sort_unstable();
    let loops: Vec<_> = loops.iter().map(|it| it.display()).collect();
    notes.add(format!("links that lead in a circle are left out: {}", some_of(&loops)));
    let mut objects = Vec::with_capacity(paths.len());
    for path in paths {
        match files.head(&Path::from_absolute_path(path)?).await {
            Ok(known) => objects.push(known),
            Err(Error::NotFound { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    let common_prefixes = folders.into_iter().map(Path::from_absolute_path);
    let common_prefixes = common_prefixes.collect::<Result<_, object_store::path::Error>>()?;
    Ok(ListResult { common_prefixes, objects })
}

/// The files and folders found below a folder.
#[derive(Debug, Default)]
struct Walk {
    /// True if subfolders are read.
    deep: bool,
    files: Vec<PathBuf>,
    folders: Vec<PathBuf>,
    loops: Vec<PathBuf>,
    /// The folders that contain the current one, by their real paths.
    around: Vec<PathBuf>,
}

impl Walk {
    fn folder(&mut self, folder: &FilePath) -> io::Result<()> {
        let real = fs::canonicalize(folder)?;
        self.around.push(real);
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            match fs::metadata(&path) {
                Ok(known) if known.is_dir() => {
                    if self.around.contains(&fs::canonicalize(&path)?) {
                        self.loops.push(path);
                    } else if self.deep {
                        self.folder(&path)?;
                    } else {
                        self.folders.push(path);
                    }
                }
                Ok(known) if known.is_file() && !is_unfinished(&path) => self.files.push(path),
                Ok(_) => {}
                // A broken link is skipped, as in other folders.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) if error.to_string().contains(LOOPS[1]) => self.loops.push(path),
                Err(error) => return Err(error),
            }
        }
        self.around.pop();
        Ok(())
    }
}

/// Returns whether a file is an unfinished write of the store below: `name#1`.
fn is_unfinished(path: &FilePath) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy());
    let number = name.as_ref().and_then(|name| Some(name.split_once('#')?.1));
    number.is_some_and(|it| !it.is_empty() && it.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;
    use std::sync::Arc;

    use futures::TryStreamExt;
    use object_store::local::LocalFileSystem;

    use super::*;
    use crate::store::local::{Folders, LocalStore};

    /// There are a folder and a file that link to themselves, a broken link, and two paths to the same folder.
    #[tokio::test]
    async fn links_in_a_circle_are_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir_all(at("t/sub")).unwrap();
        for name in ["t/a.csv", "t/sub/b.csv", "t/c.csv#1"] {
            fs::write(at(name), "a\n").unwrap();
        }
        for (to, link) in [
            (".", "self"),
            ("..", "sub/up"),
            ("loop.csv", "loop.csv"),
            ("sub", "same"),
            ("no", "not"),
        ] {
            symlink(to, at("t").join(link)).unwrap();
        }
        let notes = Arc::new(Notes::default());
        let inner = Arc::new(LocalFileSystem::new());
        let store = LocalStore::instead_of(inner, &Arc::new(Folders::default()), &notes);
        let root = Path::from_absolute_path(at("t")).unwrap();
        let names = |objects: Vec<Path>| {
            let mut names: Vec<String> = objects
                .iter()
                .map(|it| {
                    it.prefix_match(&root)
                        .unwrap()
                        .map(|it| it.as_ref().to_owned())
                        .collect::<Vec<_>>()
                        .join("/")
                })
                .collect();
            names.sort_unstable();
            names
        };
        let listed: Vec<_> = store.list(Some(&root)).try_collect().await.unwrap();
        let locations = listed.into_iter().map(|object| object.location).collect();
        assert_eq!(names(locations), ["a.csv", "same/b.csv", "sub/b.csv"]);
        let said = notes.take().join("\n");
        assert!(said.starts_with("links that lead in a circle are left out: `/"), "{said}");
        assert!(said.ends_with("and 1 more"), "{said}");
        let ListResult { common_prefixes, objects } =
            store.list_with_delimiter(Some(&root)).await.unwrap();
        assert_eq!(names(common_prefixes), ["same", "sub"]);
        assert_eq!(names(objects.into_iter().map(|object| object.location).collect()), ["a.csv"]);
        let sub = root.clone().join("sub");
        let later: Vec<_> =
            store.list_with_offset(Some(&sub), &sub.clone().join("a")).try_collect().await.unwrap();
        // From this folder, its parent is not an enclosing folder of the listing, so the link is followed.
        assert_eq!(
            names(later.into_iter().map(|object| object.location).collect()),
            ["sub/b.csv", "sub/up/a.csv"]
        );
        // Other errors are unchanged.
        fs::remove_dir_all(at("t")).unwrap();
        assert!(store.list(Some(&root)).try_collect::<Vec<_>>().await.unwrap().is_empty());
    }
}

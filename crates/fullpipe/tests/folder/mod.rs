//! A folder for the files of one test.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

/// Goes away with its value.
#[derive(Debug)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        // Whoever runs the tests may write there.
        let path = std::env::temp_dir().join(format!("fullpipe-{}-{count}", std::process::id()));
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    /// The path of a file in it, as a word of a command line.
    pub(crate) fn file(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }

    /// The path of a file with this text in it.
    pub(crate) fn written(&self, name: &str, text: &str) -> String {
        let file = self.file(name);
        fs::write(&file, text).unwrap();
        file
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Left behind, it would only be in the way.
        let _ = fs::remove_dir_all(&self.0);
    }
}

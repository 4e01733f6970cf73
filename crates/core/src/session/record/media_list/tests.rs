use super::*;
use std::fs;

fn list_in(directory: &Path) -> MediaList {
    MediaList::of(&directory.join("session-s.jsonl"))
}

fn images(digits: &str) -> NamedImages {
    let mut images = NamedImages::default();
    for digit in digits.chars() {
        images.add(format!(r#""contentId":"sha256:{}""#, digit.to_string().repeat(64)).as_bytes());
    }
    images
}

#[test]
fn only_a_list_is_taken_for_one() {
    let directory = tempfile::tempdir().unwrap();
    let list = list_in(directory.path());
    assert_eq!(list.path, directory.path().join("session-s.media.json"));
    fs::write(directory.path().join("like"), "").unwrap();
    let (like, _) = File::open_any(&directory.path().join("like"), Links::Refused).unwrap();
    list.put(&images("0af0"), &like).unwrap();
    let whole = fs::read_to_string(&list.path).unwrap();
    let [zero, a, f] = ["0", "a", "f"].map(|digit| format!(r#"{{"contentId":"sha256:{}"}}"#, digit.repeat(64)));
    assert_eq!(whole, format!(r#"{{"references":[{zero},{a},{f}]}}"#));
    assert!(list.is_there());
    for other in [
        String::new(),
        "{}".into(),
        r#"{"references":[]}"#.into(),
        whole[..whole.len() - 1].into(),
        format!("{whole}\n"),
        format!("{whole}}}"),
        whole.replace("sha256", "sha512"),
        whole.replacen('f', "F", 3),
        whole.replace("},{", "},,{"),
    ] {
        fs::write(&list.path, &other).unwrap();
        assert!(!list.is_there(), "{other}");
        list.remove();
        assert!(matches!(list.put(&images("1"), &like), Err(ArchiveError::NotAList(_))), "{other}");
        assert_eq!(fs::read_to_string(&list.path).unwrap(), other);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 2);
    }
    fs::remove_file(&list.path).unwrap();
    list.put(&images("0"), &like).unwrap();
    list.put(&images("12"), &like).unwrap();
    assert!(fs::read_to_string(&list.path).unwrap().contains("2222"), "a list is replaced");
    list.put(&images(""), &like).unwrap();
    assert!(!list.path.exists(), "without images there is none");
}

/// A sweep by the rules of a CLI, over projects in which sessions come and go, and processes end between any two steps.
#[cfg(feature = "failpoints")]
mod sweeping {
    use super::super::super::archive::{archive, remove, restore, to_append_to};
    use super::*;
    use crate::task::{Cancellation, Task};
    use std::collections::{BTreeMap, BTreeSet};
    use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
    use std::path::PathBuf;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    const ARCHIVING: &[&str] = &[
        "archive::created",
        "archive::compressed",
        "archive::verified",
        "archive::synced",
        "archive::compared",
        "archive::list_written",
        "archive::list_placed",
        "archive::renamed",
        "archive::placed",
        "archive::removed",
        "archive::forgotten",
    ];
    const RESTORING: &[&str] = &[
        "restore::created",
        "restore::written",
        "restore::synced",
        "archive::renamed",
        "archive::placed",
        "archive::removed",
        "restore::forgotten",
        "restore::unlisted",
    ];

    /// The number of images that the sessions of a project share.
    const IMAGES: u64 = 12;

    fn id_of(image: u64) -> String {
        format!("{image:02x}").repeat(32)
    }

    fn line_with(image: u64) -> String {
        let id = id_of(image);
        format!("{{\"v\":2,\"payload\":{{\"contentId\" :\t\"sha256:{id}\"}}}}\n")
    }

    struct Project {
        root: tempfile::TempDir,
        /// The images of each session that is there, by its file.
        sessions: BTreeMap<PathBuf, BTreeSet<u64>>,
        recorded: u64,
    }

    impl Project {
        fn new() -> Self {
            let root = tempfile::tempdir().unwrap();
            let project = Project { root, sessions: BTreeMap::new(), recorded: 0 };
            fs::create_dir_all(project.chats()).unwrap();
            fs::create_dir_all(project.objects()).unwrap();
            project
        }

        fn directory(&self) -> PathBuf {
            self.root.path().join("5".repeat(64))
        }

        fn chats(&self) -> PathBuf {
            self.directory().join("chats")
        }

        fn objects(&self) -> PathBuf {
            self.directory().join("media/objects/sha256")
        }

        fn store(&self, image: u64) {
            fs::write(self.objects().join(id_of(image)), "an image").unwrap();
        }

        /// Deletes every object that no file names. Returns those that are left.
        fn sweep(&self) -> BTreeSet<String> {
            let mut named = BTreeSet::new();
            names_below(&self.directory(), &mut named);
            let mut left = BTreeSet::new();
            for entry in fs::read_dir(self.objects()).unwrap() {
                let name = entry.unwrap().file_name().into_string().unwrap();
                if named.contains(&name) {
                    left.insert(name);
                } else {
                    fs::remove_file(self.objects().join(name)).unwrap();
                }
            }
            left
        }

        fn check(&self, history: &[String]) {
            let expected: BTreeSet<String> = self.sessions.values().flatten().map(|image| id_of(*image)).collect();
            assert_eq!(self.sweep(), expected, "{history:#?}");
            for (session, images) in &self.sessions {
                let is_archived = !session.exists();
                let list = MediaList::of(session);
                assert!(!is_archived || images.is_empty() || list.is_there(), "{history:#?}");
                assert!(!is_archived || session.with_extension("jsonl.zst").exists(), "{history:#?}");
            }
        }
    }

    /// All `.json` and `.jsonl` files below a project, but for those of the store. There is no `.gz` here.
    fn names_below(directory: &Path, named: &mut BTreeSet<String>) {
        let pattern = regex::Regex::new(r#""contentId"\s*:\s*"sha256:([0-9a-f]{64})""#).unwrap();
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let is_read = path.extension().is_some_and(|end| end == "json" || end == "jsonl");
            if path.is_dir() && !path.ends_with("media") {
                names_below(&path, named);
            } else if is_read && fs::metadata(&path).unwrap().len() <= 256 << 20 {
                let text = fs::read_to_string(&path).unwrap();
                named.extend(pattern.captures_iter(&text).map(|found| found[1].to_owned()));
            }
        }
    }

    fn append(path: &Path, text: &str) -> bool {
        let opened = fs::OpenOptions::new().append(true).open(path);
        opened.is_ok_and(|mut file| file.write_all(text.as_bytes()).is_ok())
    }

    /// Something that happens at a step of archiving or restoring.
    #[derive(Clone, Copy, Debug)]
    enum Event {
        None,
        Kill(&'static str),
        /// Another process appends a record with this image.
        Append(&'static str, u64),
    }

    /// Archives or restores. Returns whether the other process has appended its record.
    fn exchange(path: &Path, restores: bool, event: Event) -> bool {
        let own = std::thread::current().id();
        let (appended, session) = (Arc::new(AtomicBool::new(false)), path.to_path_buf());
        let happens: Box<dyn Fn() + Send + Sync> = match event {
            Event::None => Box::new(|| ()),
            Event::Kill(_) => Box::new(|| resume_unwind(Box::new("killed"))),
            Event::Append(_, image) => {
                let appended = appended.clone();
                Box::new(move || {
                    if append(&session, &line_with(image)) {
                        appended.store(true, Ordering::Relaxed);
                    }
                })
            }
        };
        let (Event::Kill(point) | Event::Append(point, _)) = event else {
            work(path, restores).unwrap();
            return false;
        };
        // Failpoints are the process's, and other tests archive at the same time.
        let of_own_thread = move || {
            if std::thread::current().id() == own {
                happens()
            }
        };
        fail::cfg_callback(point, of_own_thread).unwrap();
        let done = catch_unwind(AssertUnwindSafe(|| work(path, restores)));
        fail::remove(point);
        let appended = appended.load(Ordering::Relaxed);
        if let Ok(done) = done {
            assert!(done.is_ok() || appended, "{event:?}: {done:?}");
        }
        appended
    }

    fn work(path: &Path, restores: bool) -> Result<(), ArchiveError> {
        let mut task = Task { cancellation: &Cancellation::default(), progress: &mut |_| () };
        let done = if restores { restore(path, "a test", &mut task) } else { archive(path, "a test", &mut task) };
        done.map(drop)
    }

    /// Numbers that are the same in each run.
    fn random_numbers(seed: u64) -> impl FnMut(u64) -> u64 {
        let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        move |below| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            (random >> 11) % below
        }
    }

    fn step(project: &mut Project, next: &mut dyn FnMut(u64) -> u64) -> String {
        let sessions: Vec<PathBuf> = project.sessions.keys().cloned().collect();
        let choice = if sessions.is_empty() { 0 } else { next(9) };
        let image = next(IMAGES);
        if choice == 0 {
            project.recorded += 1;
            let path = project.chats().join(format!("session-{}.jsonl", project.recorded));
            let images: BTreeSet<u64> = (0..next(4)).map(|_| next(IMAGES)).collect();
            images.iter().for_each(|image| project.store(*image));
            fs::write(&path, images.iter().map(|image| line_with(*image)).collect::<String>() + "{\"v\":1}\n").unwrap();
            project.sessions.insert(path, images);
            return "recorded".into();
        }
        let path = sessions[next(sessions.len() as u64) as usize].clone();
        match choice {
            1 => {
                let to = to_append_to(path.clone(), "a test").unwrap();
                project.store(image);
                assert!(append(&to, &line_with(image)));
                project.sessions.get_mut(&path).unwrap().insert(image);
                format!("resumed {path:?} with {image}")
            }
            2 => {
                let to = to_append_to(path.clone(), "a test").unwrap();
                assert!(append(&to, "{\"type\":\"session_named\"}\n"));
                format!("named {path:?}")
            }
            3 => {
                remove(&path, "a test").unwrap();
                project.sessions.remove(&path);
                format!("deleted {path:?}")
            }
            _ => {
                let restores = choice > 6;
                let points = if restores { RESTORING } else { ARCHIVING };
                let point = points[next(points.len() as u64) as usize];
                let event = [Event::Kill(point), Event::Append(point, image), Event::None][next(3) as usize];
                // It is stored before a record names it, and is there for the test even if none does in the end.
                project.store(image);
                if exchange(&path, restores, event) {
                    project.sessions.get_mut(&path).unwrap().insert(image);
                }
                format!("{} {path:?}: {event:?}", if restores { "restored" } else { "archived" })
            }
        }
    }

    /// `SWEPT_PROJECTS` sets their number.
    #[test]
    fn no_image_of_a_session_is_swept_and_every_image_of_a_deleted_one_is() {
        let projects = std::env::var("SWEPT_PROJECTS").ok().and_then(|number| number.parse().ok()).unwrap_or(500);
        for seed in 1..=projects {
            let (mut next, mut project, mut history) = (random_numbers(seed), Project::new(), Vec::new());
            for _ in 0..4 + next(8) {
                history.push(step(&mut project, &mut next));
                project.check(&history);
            }
        }
    }
}

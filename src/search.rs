//! `searchSessions`: the hits in many sessions in [pages](super::pages).

use std::mem::take;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::vec::IntoIter;

use napi::bindgen_prelude::{AsyncTask, Float64ArraySlice, Utf16String};
use napi_derive::napi;

use super::bundles::Unpacked;
use super::error_json::ErrorJson;
use super::job::{JobEnd, PoolJob};
use super::json::JsonText;
use super::pages::{NativePages, Paged};
use session_tape_core::search::{
    Bound, Case, Fate, Field, Found, Hit, ListedFile, Part, Query, QueryOptions, ScanOptions, Search, SearchFile,
    Speaker, find_files,
};
use session_tape_core::task::Cancellation;

/// Approximate size, in bytes, of the hits that are built in one turn of the event loop.
const PAGE_BYTES: usize = 128 << 10;

/// Maximum number of files with hits in a page: the search is to be only a few files ahead of its consumer.
const PAGE_FILES: usize = 8;

/// Maximum time that a page without hits takes. It carries the progress.
const PAGE_EVERY: Duration = Duration::from_millis(100);

/// The options of a search.
#[napi(object, object_to_js = false)]
pub struct NativeSearchOptions {
    pub query: Utf16String,
    pub regex: bool,
    /// `smart`, `sensitive` or `insensitive`.
    pub case: String,
    /// The names of the fields that are searched.
    pub fields: Vec<String>,
    pub speaker: Option<String>,
    pub tool: Option<Utf16String>,
    pub project_hash: Option<Utf16String>,
    /// Whether only events with a time are of use.
    pub timed: bool,
    /// The bounds of their times, as `toISOString` writes them.
    pub since: Option<String>,
    pub until: Option<String>,
    /// Whether to search only items that are in the history at the end.
    pub current: bool,
    /// Number of UTF-16 units on each side of the first match.
    pub context: f64,
    /// The most hits that are of use.
    pub limit: f64,
}

/// The fault of a query. Returns null if it is valid.
#[napi(catch_unwind)]
pub fn search_query_fault(query: Utf16String, regex: bool, letters: String) -> Option<String> {
    Query::new(&query, query_options(regex, &letters)).err().map(|error| error.to_string())
}

/// The result is an array with an element for each path: for a file, an array of its size in bytes, its time of modification in milliseconds, and
/// whether the archive that stands for it was found instead; for a directory, an object whose `files` are arrays of name, size and time of its session files, sorted by name; or a string with the reason why it can't
/// be read. The paths are separated by NULs, which no path contains.
#[napi(catch_unwind, ts_return_type = "Promise<string>")]
pub fn find_session_files(paths: String) -> AsyncTask<PoolJob> {
    PoolJob::start(move || {
        JobEnd::done(|json| {
            json.array(|json| {
                for path in paths.split('\0') {
                    match find_files(path.as_ref()) {
                        Found::File(ListedFile { size, modified, is_stand_in, .. }) => {
                            json.value(&(size, modified, is_stand_in));
                        }
                        Found::Directory(files) => {
                            let files: Vec<_> =
                                files.iter().map(|file| (&file.name, file.size, file.modified)).collect();
                            json.object(|json| json.member("files", &files));
                        }
                        Found::Unreadable(error) => json.value(&error.to_string()),
                    }
                }
            });
        })
    })
}

/// A search in these files, in this order. The paths are separated by NULs; the sizes need not be exact. Nothing is opened before the first page is
/// requested. A page has hits. Its `parts` are the files that they are in, each an array: its index, the session's id or null, the number of its hits
/// among `hits`, what became of it: null if there are more hits, its size in bytes if it was searched, a reason why it could not be read, or false if it
/// was left out; and whether it is archived. A hit is an array of the members of a `SessionHit` from `line` on.
#[napi(catch_unwind)]
pub fn search_sessions(paths: String, sizes: Float64ArraySlice<'_>, options: NativeSearchOptions) -> NativePages {
    let sizes = sizes.iter().map(|size| *size as u64);
    let files = paths.split('\0').zip(sizes).map(|(path, size)| SearchFile { path: PathBuf::from(path), size });
    NativePages::new::<Searching>(Request { files: files.collect(), options: Box::new(options) })
}

/// What is to be searched.
pub struct Request {
    files: Vec<SearchFile>,
    options: Box<NativeSearchOptions>,
}

/// A part, and those of its hits that were in no page yet.
type Rest = (Part, IntoIter<Hit>);

/// A search that has begun.
pub struct Searching {
    search: Search,
    cancellation: Cancellation,
    /// The part of which only some hits were in a page yet.
    rest: Option<Rest>,
    is_over: bool,
}

impl Paged for Searching {
    type Request = Request;

    fn open(
        Request { files, options }: Request,
        cancellation: &Cancellation,
    ) -> std::result::Result<(Self, Option<Arc<Unpacked>>), Box<JobEnd>> {
        let options = scan_options(*options)?;
        let search = Search::new(files, options);
        Ok((Searching { search, cancellation: cancellation.clone(), rest: None, is_over: false }, None))
    }

    fn next_page(&mut self) -> JobEnd {
        let (mut page, begun) = (Page::default(), Instant::now());
        while !self.cancellation.is_cancelled() && !page.is_full() && begun.elapsed() < PAGE_EVERY {
            if let Some((part, hits)) = self.rest.take() {
                self.rest = page.add(part, hits);
                continue;
            }
            let is_empty = page.count == 0;
            match if is_empty { self.search.next_part() } else { self.search.ready_part() } {
                Some(mut part) => {
                    let hits = take(&mut part.hits).into_iter();
                    self.rest = page.add(part, hits);
                }
                None => {
                    self.is_over = is_empty;
                    break;
                }
            }
        }
        if self.cancellation.is_cancelled() {
            return Self::no_page();
        }
        self.search.pause();
        page.finish(self.is_over)
    }

    fn no_page() -> JobEnd {
        Page::default().finish(true)
    }

    fn is_at_rest(&self) -> bool {
        self.is_over
    }

    fn end(self) {
        self.search.end();
    }
}

fn query_options(is_regex: bool, case: &str) -> QueryOptions {
    let case = match case {
        "sensitive" => Case::Sensitive,
        "insensitive" => Case::Insensitive,
        _ => Case::Smart,
    };
    QueryOptions { is_regex, case }
}

fn scan_options(options: NativeSearchOptions) -> std::result::Result<ScanOptions, Box<JobEnd>> {
    let query = Query::new(&options.query, query_options(options.regex, &options.case));
    let query = query.map_err(|error| Box::new(JobEnd::failed(&ErrorJson::new("ESESSIONREAD", error.to_string()))))?;
    let bound = |text: Option<String>| text.and_then(|text| Bound::try_from(text.as_bytes()).ok());
    let named = |name: &&Field| options.fields.iter().any(|field| field == name.as_str());
    Ok(ScanOptions {
        query,
        fields: Field::ALL.iter().filter(named).fold(0, |bits, field| bits | field.bit()),
        speaker: options.speaker.and_then(|name| Speaker::ALL.into_iter().find(|speaker| speaker.as_str() == name)),
        tool: options.tool.map(|tool| tool.to_vec()),
        project_hash: options.project_hash.map(|hash| hash.to_vec()),
        between: options.timed.then(|| (bound(options.since), bound(options.until))),
        is_current: options.current,
        context: options.context as usize,
        limit: options.limit as usize,
    })
}

/// Some hits, as JSON.
#[derive(Default)]
struct Page {
    parts: JsonText,
    hits: JsonText,
    count: usize,
    /// Number of parts that have hits.
    files: usize,
}

impl Page {
    fn is_full(&self) -> bool {
        self.bytes() >= PAGE_BYTES || self.files >= PAGE_FILES
    }

    fn bytes(&self) -> usize {
        self.parts.bytes() + self.hits.bytes()
    }

    /// Adds hits of a part while there is room. Returns the part if there are more.
    fn add(&mut self, part: Part, mut hits: IntoIter<Hit>) -> Option<Rest> {
        let before = self.count;
        while self.bytes() < PAGE_BYTES
            && let Some(hit) = hits.next()
        {
            self.hits.array(|json| append_hit(json, &hit));
            self.count += 1;
        }
        self.files += usize::from(self.count > before);
        let is_whole = hits.len() == 0;
        self.parts.array(|json| {
            json.value(&part.file);
            json.raw(part.session_id.as_deref().unwrap_or(b"null"));
            json.value(&(self.count - before));
            match part.fate.as_ref().filter(|_| is_whole) {
                None => json.raw(b"null"),
                Some(Fate::Searched(bytes)) => json.value(bytes),
                Some(Fate::LeftOut) => json.value(&false),
                Some(Fate::Unreadable(reason)) => json.value(reason),
            }
            json.value(&part.is_archived);
        });
        (!is_whole).then_some((part, hits))
    }

    fn finish(mut self, is_last: bool) -> JobEnd {
        let mut json = JsonText::with_capacity(self.bytes() + 100);
        json.open();
        for (key, elements) in [("parts", take(&mut self.parts)), ("hits", take(&mut self.hits))] {
            json.key(key).array(|json| json.raw(&elements.into_bytes()));
        }
        json.member("last", &is_last);
        JobEnd::done_behind(json, None, |json| json.raw(b"{}"))
    }
}

fn append_hit(json: &mut JsonText, hit: &Hit) {
    json.value(&hit.line);
    match hit.seq {
        Some(seq) => json.number(seq),
        None => json.raw(b"null"),
    }
    json.raw(hit.ts.as_deref().unwrap_or(b"null"));
    json.raw(hit.event_type.as_json().as_bytes());
    json.value(&hit.speaker.map(Speaker::as_str));
    json.value(hit.field.as_str());
    json.raw(hit.tool.as_deref().unwrap_or(b"null"));
    json.text(hit.pointer.as_json().as_bytes());
    json.text(hit.snippet.as_json().as_bytes());
    json.value(&hit.ranges);
    json.value(&hit.matches);
    json.value(&hit.in_history);
}

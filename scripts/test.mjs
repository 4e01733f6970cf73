// `npm test`: prepares the work tree and runs the tests, those in Rust in parallel with those in JavaScript. Arguments are passed to vitest.
//
// Without arguments it leaves out what takes longest (`__test__/slow`, the tests of SLOW_IN_RUST, and the test binaries of Rust, which kill processes
// and fail disks), and tries a quarter of the cases of each property. CI, which sets `CI`, runs everything in full; so does `npm test -- --full`.
//
// The addon is built first, because the tests in JavaScript take longest and many of them wait: compiling and running those in Rust fills the time.
// The two share compiled dependencies: the profile `bench` compiles them as `release` does, for the target that `napi build` passes.

import { spawn } from 'node:child_process'
import { dirname, join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { fileURLToPath } from 'node:url'

import { cargoTarget } from './cargo-target.mjs'

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..')
const VITEST = join(ROOT, 'node_modules/vitest/vitest.mjs')

const wanted = process.argv.slice(2).filter((argument) => argument !== '--full')
const isFull = process.env.CI !== undefined || process.argv.includes('--full')

/** Tests of the core that take a second and more each without optimisation. */
const SLOW_IN_RUST = [
  'archived::survey::tests::frames_end_with_lines_and_only_longer_lines_are_divided',
  'archived::survey::tests::repeats_are_those_of_a_plain_reader',
  'archived::tests::a_damaged_archive_has_a_beginning_of_the_session',
  'archived::tests::a_session_that_repeats_long_strings_has_long_frames_in_which_a_repeat_costs_nothing',
  'archived::tests::a_table_that_lies_is_no_worse_than_damage',
  'archived::tests::an_archive_has_the_bytes_of_the_session_at_its_offsets',
  'archived::tests::archives_of_other_programs_are_read',
  'archived::tests::frames_end_at_lines_unless_a_line_is_longer',
  'archived::tests::what_is_behind_damage_is_a_torn_line',
  'atif::tests::round_trip::any_history_is_read_back_as_it_was_exported',
  'atif::tests::round_trip::the_history_of_every_fixture_is_the_same_behind_an_export',
  'bundle::export::export::tests::progress_never_decreases_and_ends_once',
  'bundle::export::export::tests::readers_accept_archives_of_repetitive_content',
  'bundle::export::export::tests::repetitive_content_verifies_with_the_default_limits',
  'bundle::read::archive::tests::bounded_compression_stays_below_the_expansion_limit',
  'bundle::read::archive::tests::compression_threads_do_not_change_the_archive',
  'bundle::read::archive::tests::rejects_entries_that_are_not_files',
  'bundle::read::archive::tests::rejects_entries_that_lead_out_of_the_archive',
  'bundle::read::archive::tests::stops_a_decompression_bomb_at_the_limit',
  'bundle::read::import::tests::import_undoes_export',
  'bundle::read::verify::tests::any_changed_byte_of_any_file_is_found',
  'bundle::redact::blobs::tests::a_match_that_is_longer_than_the_overlap_is_an_error',
  'bundle::redact::blobs::tests::a_secret_is_found_at_every_boundary_of_windows',
  'bundle::redact::blobs::tests::pointers_apply_to_json_up_to_a_maximum_size',
  'bundle::redact::builtin::tests::each_rule_redacts_its_secret_and_nothing_around_it',
  'bundle::redact::builtin::tests::of_two_tokens_that_nothing_separates_nothing_is_left',
  'bundle::redact::matcher::tests::the_prefilter_changes_nothing_that_is_removed',
  'bundle::redact::original_hashes::tests::a_dropped_hash_is_removed_from_other_blobs_and_then_their_hashes_are_dropped_too',
  'bundle::redact::original_hashes::tests::a_dropped_hash_is_removed_from_texts_however_it_stands_in_them',
  'bundle::redact::original_hashes::tests::original_hash_of_a_guessable_blob_is_in_no_file',
  'bundle::redact::run_tests::inputs_of_ids_hashes_and_states_are_never_redacted',
  'bundle::redact::run_tests::no_planted_secret_is_left_and_redaction_is_idempotent',
  'bundle::redact::run_tests::rules_apply_to_the_kinds_and_tools_that_they_name',
  'bundle::redact::run_tests::texts_outside_the_state_are_redacted',
  'bundle::redact::sequence_tests::every_secret_is_found_with_any_sequence_at_any_place',
  'bundle::redact::sequence_tests::sequences_change_nothing_about_what_is_found',
  'bundle::redact::session_tests::hostile_lines_are_redacted_without_exceeding_limits',
  'bundle::redact::session_tests::no_secret_is_left_whatever_surrounds_it',
  'diff::align::align::tests::alignment_finds_planted_edits',
  'diff::align::align::tests::alignment_stops_at_its_limit_and_on_cancellation',
  'diff::tests::runs::changed_output_is_the_divergence',
  'diff::tests::runs::inserted_or_removed_event_is_one_edit',
  'disk::lock::file_lock::tests::lock_never_has_two_owners',
  'foreign::claude_tests::two_writers_who_alternate_are_read_in_file_order_from_some_line_on',
  'foreign::hashes::tests::every_record_and_the_source_have_their_hashes',
  'foreign::records::tests::what_breaks_off_is_read_once',
  'foreign::tests::traps::gemini::messages_that_change_again_and_again_end_with_a_warning_in_linear_time',
  'lines::writer::tests::line_queued_in_the_last_pause_is_written',
  'lines::writer::tests::what_is_asked_for_during_a_sync_is_answered',
  'repair::tests::a_failed_attempt_is_no_loss',
  'repair::tests::a_record_fused_onto_a_failed_append_is_recovered',
  'repair::tests::any_text_is_repaired_or_refused',
  'repair::tests::damage_costs_only_the_records_that_it_touches',
  'repair::tests::hostile_text_takes_linear_time',
  'repair::tests::no_output_of_a_tool_becomes_a_record',
  'repair::tests::records_inside_strings_stay_there',
  'run::replay::replay::long_tests::damage_after_the_last_wanted_event_is_ignored',
  'run::replay::replay::long_tests::error_in_a_decoded_chunk_has_the_state_before_it',
  'run::replay::replay::long_tests::read_ahead_fold_equals_the_fold_event_by_event',
  'run::replay::replay::tests::any_byte_put_in_at_the_end_of_a_line_or_in_place_of_it_is_found',
  'search::tests::the_prefilter_changes_no_hit_of_an_expression',
  'session::read::replay::tests::long_edits_of_long_items_have_the_effect_of_short_ones',
  'session::record::media_list::tests::sweeping::no_image_of_a_session_is_swept_and_every_image_of_a_deleted_one_is',
  'task::background::jobs::tests::blocked_jobs_do_not_starve_others',
]

/** The steps in the order in which they ended: name, seconds, and whether they succeeded. */
const ended = []

const isReady = await step('set-up', process.execPath, ['scripts/setup.mjs'])
// Without the addon, those in Rust may still say what is wrong.
const [javascript, rust] = await Promise.all([isReady && javascriptTests(), rustTests()])
report()
if (!(javascript && rust)) process.exitCode = 1

function javascriptTests() {
  const env = isFull || wanted.length > 0 ? {} : { TESTS: 'fast', PROPERTY_RUNS_FACTOR: '0.25' }
  return step('vitest', process.execPath, [VITEST, 'run', ...wanted], { env })
}

/**
 * Those of the addon and of the core together, so that no dependency is compiled with two sets of features.
 */
async function rustTests() {
  const test = ['test', '--profile', 'bench', ...cargoTarget()]
  if (!isFull)
    return step('cargo', 'cargo', [...test, '--lib', '--', ...SLOW_IN_RUST.flatMap((name) => ['--skip', name])], {
      quiet: true,
    })
  test.push('--features', 'failpoints')
  return (
    (await step('cargo', 'cargo', [...test, '--lib', '--test', '*'], { quiet: true })) &&
    (await step('cargo, documentation', 'cargo', [...test, '--doc'], { quiet: true }))
  )
}

/**
 * Runs a command. Returns whether it succeeded. Interleaved output would be unreadable, and what failed must stand at the end: a quiet command prints
 * its output if it fails, else the totals alone.
 */
function step(name, command, args, { quiet = false, env = {} } = {}) {
  const start = performance.now()
  const said = []
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      cwd: ROOT,
      env: { ...env, ...process.env },
      stdio: ['ignore', quiet ? 'pipe' : 'inherit', quiet ? 'pipe' : 'inherit'],
    })
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => said.push(chunk))
    child.on('error', (error) =>
      said.push(
        Buffer.from(`${command} could not be started: ${error.message}. Building needs Rust: https://rustup.rs\n`),
      ),
    )
    child.on('close', (code) => {
      ended.push({ name, seconds: (performance.now() - start) / 1000, ok: code === 0 })
      const output = Buffer.concat(said).toString()
      if (quiet || code !== 0) console.log(`\n== ${name}\n${code === 0 ? totals(output) : output}`)
      resolve(code === 0)
    })
  })
}

function totals(output) {
  const results = [...output.matchAll(/^test result: ok\. (\d+) passed; 0 failed; (\d+) ignored/gm)]
  const sum = (group) => results.reduce((total, result) => total + Number(result[group]), 0)
  return `${sum(1)} passed, ${sum(2)} ignored`
}

function report() {
  console.log(`\n${'step'.padEnd(24)}seconds`)
  for (const { name, seconds, ok } of ended)
    console.log(`${name.padEnd(24)}${seconds.toFixed(0).padStart(7)}${ok ? '' : '  failed'}`)
}

// Descriptions of records that are not items, for the page and for `view --text`.

const NOTES = {
  session_start: ({ provider, model, cwd }) => ['The session began', [provider, model, cwd].filter((part) => typeof part === 'string' && part !== '').join(' · ')],
  provider_switch: ({ provider, model }) => ['Switched to', [provider, model].filter((part) => typeof part === 'string').join(' · ')],
  directories_changed: ({ directories }, briefly) => ['Directories', Array.isArray(directories) ? directories.map((each) => briefly(each)).join(', ') : briefly(directories)],
  session_event: ({ severity, message }, briefly) => [typeof severity === 'string' ? severity : 'event', typeof message === 'string' ? message : briefly(message)],
  session_metadata: ({ title }, briefly) => ['Title', title === null ? '(none)' : briefly(title)],
  session_named: ({ name }, briefly) => ['Named', name === null ? '(none)' : briefly(name)],
  checkpoint_created: ({ name, checkpointId }, briefly) => ['Checkpoint', `${briefly(name)} (${briefly(checkpointId)})`],
  checkpoint_renamed: ({ name, checkpointId }, briefly) => ['Checkpoint renamed', `${briefly(name)} (${briefly(checkpointId)})`],
  checkpoint_deleted: ({ checkpointId }, briefly) => ['Checkpoint deleted', briefly(checkpointId)],
  session_forked: ({ parentSessionId, checkpointName }, briefly) => ['Forked', `from ${briefly(parentSessionId)} at ${briefly(checkpointName)}`],
}

/** Returns what happened, and the details. `briefly` formats a value of the file. */
function noteText(type, payload, briefly) {
  const isKnown = typeof payload === 'object' && payload !== null && Object.hasOwn(NOTES, type)
  return isKnown ? NOTES[type](payload, briefly) : [type, briefly(payload)]
}

// In the page, there are no modules.
if (typeof module !== 'undefined') module.exports = { noteText }

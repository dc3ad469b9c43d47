// @ts-check
// The shapes of what the server sends. They are the twins of `rows.py`, `details.py` and `document.py`.

/**
 * A row of an outline. Times are seconds since the first fact.
 * @typedef {object} Row
 * @property {number} i
 * @property {"message" | "turn" | "call" | "note" | "end"} kind
 * @property {number} [parent]
 * @property {number[]} facts
 * @property {string} [role]
 * @property {string} [text]
 * @property {number} [turn]
 * @property {string} [model]
 * @property {string} [dialect]
 * @property {string} [finish]
 * @property {number} [calls]
 * @property {number} [input_tokens]
 * @property {number} [output_tokens]
 * @property {number} [cost]
 * @property {string} [id]
 * @property {string} [name]
 * @property {string} [arguments]
 * @property {string} [stage]
 * @property {string} [result]
 * @property {string} [error]
 * @property {string} [repair]
 * @property {string} [digest]
 * @property {string} [note]
 * @property {string} [reason]
 * @property {boolean} [quoted]
 * @property {string[]} [doubts] the values of a call that nobody explains who may, in words
 * @property {boolean} [approved]
 * @property {boolean} [ran]
 * @property {boolean} [void]
 * @property {boolean} [inner] whether it is of an inner run: of an agent or a program that a call runs
 * @property {boolean} [is_program] whether the call runs a program
 * @property {("error" | "repair" | "refusal" | "repeat")[]} [faults]
 * @property {number} [repeat_of] the row of the same call, which took effect before
 * @property {number} [seconds] of an end: how long the run took
 * @property {number} [media]
 * @property {number | null} [at]
 * @property {number | null} [ready]
 * @property {number | null} [start]
 * @property {number | null} [end]
 * @property {number | null} [asked]
 * @property {number | null} [answered]
 */

/**
 * What is known of a whole run.
 * @typedef {object} Summary
 * @property {string} status
 * @property {string} [reason]
 * @property {string} [detail]
 * @property {string} [run_id]
 * @property {string} [model]
 * @property {string} [dialect]
 * @property {string} [title]
 * @property {string[]} [tools]
 * @property {number} input_tokens
 * @property {number} output_tokens
 * @property {number | null} cost
 * @property {number} turns
 * @property {number} calls
 * @property {number} errors
 * @property {number} repairs
 * @property {number} refusals
 * @property {number} repeats
 */

/** The run that another one goes on from. @typedef {RunKey & {title: string, is_fork: boolean}} Origin */

/**
 * What was asked and what was answered, and the rows that hold them.
 * @typedef {object} RunAnswer
 * @property {string} prompt
 * @property {string} answer
 * @property {boolean} is_cut
 * @property {boolean} is_prompt_cut
 * @property {boolean} is_json
 * @property {number} [prompt_row]
 * @property {number} [answer_row]
 */

/** A call in a conversation. @typedef {{name: string, arguments: string, stage: string, outcome: string, row?: number}} ChatCall */

/** @typedef {{role: string, text: string, is_cut: boolean, media: string[], calls: ChatCall[], row?: number}} ChatMessage */

/** @typedef {{row: number, part: string, text: string}} Draft */

/** How far a call is. @typedef {{row: number, text: string}} Progress */

/**
 * @typedef {object} Outline
 * @property {number} facts
 * @property {Row[]} rows
 * @property {Summary} summary
 * @property {number | null} started
 * @property {boolean} live
 * @property {boolean} reading whether this is the beginning of a long run, whose rest is read in the meantime
 * @property {string} failure
 * @property {Draft[]} drafts
 * @property {Progress[]} progress
 * @property {Origin | null} [origin]
 * @property {boolean} [answers] whether calls can be approved here
 */

/**
 * What the server tells of a run that goes on.
 * @typedef {{type: "rows", facts: number, rows: Row[], summary: Summary}
 *   | ({type: "draft"} & Draft)
 *   | ({type: "progress"} & Progress)
 *   | {type: "end", failure: string}} Change
 */

/**
 * A part of the details of a row.
 * @typedef {object} Section
 * @property {"text" | "thinking" | "json" | "code" | "log" | "error" | "remark" | "changes" | "media" | "raw" | "figures"} type
 * @property {string} [label]
 * @property {string} [text]
 * @property {number} [chars]
 * @property {"good" | "warn" | "bad"} [tone]
 * @property {{path: string, before: string, after: string}[]} [changes]
 * @property {string} [mime]
 * @property {string | null} [name]
 * @property {string | null} [url]
 * @property {number | null} [size]
 * @property {string} [dialect]
 * @property {Span[]} [spans]
 * @property {number} [rest]
 * @property {[string, string][]} [figures]
 */

/**
 * A part of what the model wrote, with what it was read as.
 * @typedef {object} Span
 * @property {string} text
 * @property {"prose" | "thinking" | "call" | "malformed" | "made_up" | "dropped" | "retraction" | "skipped"} kind
 * @property {string[]} notes
 * @property {number[]} [repairs] places in the text
 * @property {boolean} [repaired]
 * @property {boolean} [quoted]
 */

/**
 * What the model was shown in a turn.
 * @typedef {object} ShownRequest
 * @property {string} used the dialect of the turn
 * @property {string} dialect
 * @property {string[]} dialects
 * @property {{place: number, role: string, text: string, chars: number}[]} messages
 * @property {number} count
 * @property {number} first
 * @property {string} [tools]
 * @property {number} [tool_count]
 * @property {string} [grammar]
 */

/** @typedef {{i: number, facts: number[], sections: Section[]}} Details */

/**
 * A run in a list. What is zero or empty is left out, and so are the figures of a run that was not read yet.
 * @typedef {object} Entry
 * @property {string} id
 * @property {string} title
 * @property {string} where
 * @property {string} model
 * @property {"queued" | "running" | "paused" | "done" | "unknown"} status
 * @property {string} reason
 * @property {number | null} updated
 * @property {string} size
 * @property {string} [dialect]
 * @property {string} [detail] why it ended, in words
 * @property {string} [answer]
 * @property {number} [turns]
 * @property {number} [calls]
 * @property {number} [errors]
 * @property {number} [repairs]
 * @property {number} [refusals]
 * @property {number} [repeats] calls that took effect although an equal one had before
 * @property {[string, string, number][]} [repeated] the tool and the arguments of such calls, and how often they took effect
 * @property {[string, number][]} [tools]
 * @property {number} [input_tokens]
 * @property {number} [output_tokens]
 * @property {number} [cost]
 * @property {number} [seconds]
 * @property {string} [unreadable] why it cannot be read
 * @property {string} [run_id] what the run calls itself, where its id is something else
 * @property {string} [conversation]
 * @property {string[]} [labels]
 * @property {string[]} [tags]
 * @property {number} [score]
 * @property {string} [note]
 */

/**
 * @typedef {object} SourceList
 * @property {string} name
 * @property {string} label
 * @property {Entry[]} runs
 * @property {string} failure
 * @property {number} [unread] how many runs were not read yet
 * @property {string[]} [gone] runs that are no longer there
 */

/** @typedef {{revision: number, sources: SourceList[]}} RunChanges */

/** What people say of a run. @typedef {{score: number | null, note: string, tags: string[]}} Annotation */

/** A mark and a text: what both runs have, what the first one has, what the second has. @typedef {["" | "-" | "+", string]} Segment */

/**
 * A step of two runs, or of one of them.
 * @typedef {object} DifferentStep
 * @property {"message" | "turn" | "call" | "malformed" | "end"} kind
 * @property {string} label
 * @property {"same" | "changed" | "first" | "second"} state
 * @property {[number | null, number | null]} facts
 * @property {string} [text]
 * @property {{label: string, state: "same" | "changed", text?: string, texts?: [Segment[] | null, Segment[] | null]}[]} [parts]
 */

/**
 * @typedef {object} Differences
 * @property {[string, string]} titles
 * @property {{name: string, label: string, values: [string | number | null, string | number | null]}[]} figures
 * @property {DifferentStep[]} steps
 * @property {number} left_out
 */

/** @typedef {{source: string, id: string}} RunKey */

export {};

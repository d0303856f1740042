import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { Against } from '../../../authoring/check/check-files.ts'
import type { ChangeSummary } from '../../../authoring/diff/change-summary.ts'
import { type Cells, diffRows } from '../../../authoring/diff/diff-rows.ts'
import {
  type Files,
  gridToCsv,
  loadVersion,
  readGrid,
  readTexts,
  summariseChange,
  type Texts,
  type Version,
  type WorkbenchStart,
} from '../../../authoring/diff/review.ts'
import { cellText, FACT_LIST } from '../../../service/decide/decision/facts.ts'
import { OUTCOMES } from '../../../service/decide/decision/result.ts'
import { CHANNELS } from '../../../service/decide/party/channel.ts'
import { PROMISE_SHEET } from '../../../service/decide/rules/load-promises.ts'
import type { SheetForm } from '../../../service/decide/rules/read-sheet.ts'
import { RULE_SHEET } from '../../../service/decide/rules/rule.ts'

export type SheetKey = 'table' | 'promises'

/** Edited files: the cells of the sheets, and each text by its file name. */
export type Draft = Readonly<Record<SheetKey, readonly Cells[]>> & {
  readonly templates: Readonly<Record<string, string>>
}

/** The values of a column of the rules, besides blank. Columns for any text are absent. */
export const CHOICES: Readonly<Record<string, readonly string[]>> = {
  ...Object.fromEntries(FACT_LIST.map(([, { column, values }]) => [column, values.map(cellText)])),
  outcome: OUTCOMES,
  'send by': CHANNELS,
}
export const SHEETS = {
  table: {
    ...RULE_SHEET,
    columns: RULE_SHEET.columns as readonly string[],
    file: 'dispatch.csv',
    what: 'rule',
  },
  promises: {
    ...PROMISE_SHEET,
    columns: PROMISE_SHEET.columns as readonly string[],
    file: 'promises.csv',
    what: 'promise',
  },
} as const satisfies Record<SheetKey, SheetForm<string> & { readonly file: string }>
const KEYS = ['table', 'promises'] as const

/** The headings are the first line of a file. */
export const FIRST_ROW = 2

/** The rows of a file; none if it cannot be read. */
export function buildRows(key: SheetKey, csvText: string): readonly Cells[] {
  return readGrid(csvText, SHEETS[key]).rows ?? []
}

function buildDraft({ table, promises, templates }: Files): Draft {
  return {
    table: buildRows('table', table),
    promises: buildRows('promises', promises),
    templates: Object.fromEntries(templates.map(({ name, text }) => [name, text])),
  }
}

/** The columns of each sheet in force, which a changed one keeps. */
type Columns = Readonly<Record<SheetKey, readonly string[]>>

function readColumns({ table, promises }: Files): Columns {
  return {
    table: readGrid(table, SHEETS.table).columns,
    promises: readGrid(promises, SHEETS.promises).columns,
  }
}

/** The files of a draft by their paths in the repository. */
function toFiles(draft: Draft, columns: Columns): Readonly<Record<string, string>> {
  const sheets = KEYS.map((key) => [
    `rules/${SHEETS[key].file}`,
    gridToCsv(
      SHEETS[key].columns,
      draft[key].filter((row) => row.some((cell) => cell !== '')),
      columns[key],
    ),
  ])
  const texts = Object.entries(draft.templates).map(([name, text]) => [`templates/${name}`, text])
  return Object.fromEntries([...sheets, ...texts])
}

/** The file of the accepted outcomes. */
export const ACCEPTED = 'rules/outcomes.txt'

/** The files of a draft that differ from those in force; with the new outcomes, unless faults prevent them. */
export function changedFiles(
  { draft, outcomes, acceptedOutcomes }: Verdict,
  { inForce, columns }: Pick<Bench, 'inForce' | 'columns'>,
): readonly [path: string, text: string][] {
  const before = toFiles(inForce, columns)
  const changed = Object.entries(toFiles(draft, columns)).filter(([path, text]) => text !== before[path])
  const isNew = outcomes !== null && outcomes !== acceptedOutcomes.replaceAll('\r\n', '\n')
  return changed.length > 0 && isNew ? [...changed, [ACCEPTED, outcomes]] : changed
}

/** The draft stored in this tab, with the files in force at its start. */
interface Kept {
  readonly draft: Draft
  readonly base: Draft
}

/** Names the columns, too: a release that adds one must not shift the cells of a draft that was stored before. */
const KEY = ['notifications-draft', ...KEYS.flatMap((key) => SHEETS[key].columns)].join('|')
const UNDO_COUNT_MAX = 100
/** Kept while the page is open, so that a visit to another view loses nothing. */
let past: Kept[] = []
let future: Kept[] = []

export type Bench = ReturnType<typeof useDraft>

/**
 * The draft, which begins as the files in force. It is stored in this tab, so that neither a visit to a log entry nor a reload
 * loses it. Typing into one cell or text is undone in one step.
 */
export function useDraft(start: WorkbenchStart) {
  const serialized = JSON.stringify(start)
  const inForce = useMemo(() => buildDraft(JSON.parse(serialized)), [serialized])
  const columns = useMemo(() => readColumns(JSON.parse(serialized)), [serialized])
  const [{ draft, base }, setKept] = useState<Kept>(
    () => JSON.parse(sessionStorage.getItem(KEY) ?? 'null') ?? { draft: inForce, base: inForce },
  )
  const typedIn = useRef<string | undefined>(undefined)
  const take = (now: Kept) => {
    sessionStorage.setItem(KEY, JSON.stringify(now))
    setKept(now)
  }
  /** `place` names the edited cell or text. */
  const change = (to: Partial<Draft>, place?: string, from = base) => {
    if (place === undefined || place !== typedIn.current)
      past = [...past.slice(-UNDO_COUNT_MAX), { draft, base }]
    future = []
    typedIn.current = place
    take({ draft: { ...draft, ...to }, base: from })
  }
  const undo = () => {
    typedIn.current = undefined
    future.push({ draft, base })
    take(past.pop() ?? { draft, base })
  }
  const redo = () => {
    typedIn.current = undefined
    past.push({ draft, base })
    take(future.pop() ?? { draft, base })
  }
  // Without changes no question is needed.
  const isUntouched = isSameDraft(draft, base) || isSameDraft(draft, inForce)
  const isOutdated = !isSameDraft(base, inForce)
  useEffect(() => {
    if (isOutdated && isUntouched) take({ draft: inForce, base: inForce })
  }, [isOutdated, isUntouched])
  return {
    inForce,
    columns,
    draft,
    change,
    undo: past.length === 0 ? null : undo,
    redo: future.length === 0 ? null : redo,
    /** Actions on a draft whose files are no longer in force; null if they are. */
    outdated:
      isOutdated && !isUntouched
        ? {
            changes: changesBetween(base, inForce),
            keep: () => {
              // A proposal cannot delete a text, so texts added by others stay.
              const templates = { ...inForce.templates, ...draft.templates }
              take({ draft: { ...draft, templates }, base: inForce })
            },
            drop: () => change(inForce, undefined, inForce),
          }
        : null,
  }
}

function isSameDraft(a: Draft, b: Draft): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}

/** Other people's changes, row by row. */
function changesBetween(base: Draft, inForce: Draft): string[] {
  const rows = KEYS.flatMap((key) =>
    diffRows(SHEETS[key].what, SHEETS[key].columns, base[key], inForce[key]).map(({ text }) => text),
  )
  const names = Object.keys({ ...base.templates, ...inForce.templates })
  const texts = names.flatMap((name) => {
    const [was, is] = [base.templates[name], inForce.templates[name]]
    const kind = was === undefined ? 'added' : is === undefined ? 'deleted' : 'changed'
    return was === is ? [] : [`text ${kind}: ${name}`]
  })
  const changes = [...rows, ...texts]
  return changes.length === 0 ? ['the order of rows differs'] : changes
}

/** Result of the checks on a draft, and its changes. */
export interface Verdict extends Version {
  readonly draft: Draft
  readonly summary: ChangeSummary
  /** The rules in force. */
  readonly acceptedOutcomes: string
}

const PAUSE_MS_MAX = 250

/** Texts take longest to check and seldom change. */
const textsOf = new WeakMap<Draft['templates'], { texts: Texts; seen: readonly string[] }>()
const NONE: readonly string[] = []

async function loadDraftVersion(draft: Draft, outcomes: string, against: Against): Promise<Version> {
  const files = Object.entries(draft.templates).map(([name, text]) => ({ name, text }))
  const seen = against.seenEventTypes ?? NONE
  const held = textsOf.get(draft.templates)
  const texts = held?.seen === seen ? held.texts : readTexts(files, outcomes, seen)
  textsOf.set(draft.templates, { texts, seen })
  const [table = '', promises = ''] = KEYS.map((key) => gridToCsv(SHEETS[key].columns, draft[key]))
  return loadVersion({ table, promises }, texts, against)
}

/**
 * Checks the draft in this page, without the service. A check blocks the page, so the next one waits as long as the last took. Null
 * before the first verdict.
 */
export function useVerdict(
  draft: Draft,
  inForce: Draft,
  { outcomes, traffic }: Pick<WorkbenchStart, 'outcomes' | 'traffic'>,
  seenEventTypes: readonly string[] | null,
): Verdict | null {
  const [verdict, setVerdict] = useState<Verdict | null>(null)
  const tookMs = useRef(0)
  useEffect(() => {
    const check = async () => {
      const startedMs = performance.now()
      const before = await loadDraftVersion(inForce, outcomes, { seenEventTypes })
      const rules = before.ruleTable?.rules ?? []
      const after = await loadDraftVersion(draft, outcomes, { rules, seenEventTypes })
      const summary = summariseChange(before, after, outcomes, traffic)
      tookMs.current = performance.now() - startedMs
      setVerdict({ ...after, draft, summary, acceptedOutcomes: outcomes })
    }
    const timer = setTimeout(check, Math.min(tookMs.current, PAUSE_MS_MAX))
    return () => clearTimeout(timer)
  }, [draft, inForce, outcomes, traffic, seenEventTypes])
  return verdict
}

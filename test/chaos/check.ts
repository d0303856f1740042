import { isDeepStrictEqual } from 'node:util'
import type { CommittedRecord } from '../stack/kafka/read-committed.ts'
import { emailOf, phoneOf } from '../stack/policy-administration.ts'
import type { Offsets } from '../stack/topics.ts'
import { acknowledgedStored, decidedByNewest, optOutsHeeded, readsNewest } from './check-register.ts'
import { hangingBy, isFickle, kindOf, mentionsForgotten } from './parties.ts'
import type { Erasure } from './people.ts'
import type { Put, Read } from './register.ts'
import type { Run } from './replica.ts'
import type { FaultKind } from './schedule.ts'
import type { DecisionRow, LogRow, Snapshot } from './snapshot.ts'
import { tableOf } from './tables.ts'
import {
  decisionOnceAnswered,
  decisionOnceFailed,
  type TrueEvent,
  type Truth,
  textOf,
  truthOf,
} from './truth.ts'

/** Events around the service during the run. Times are milliseconds since 1970. */
export interface Evidence {
  /** Policy administration's answers by party locator, oldest first. */
  readonly answers: ReadonlyMap<string, readonly PartyAnswer[]>
  /** The messages passed to senders, by their own record. */
  readonly sends: readonly Send[]
  /** Messages sent before this time must be committed in the snapshot; a retry of later ones may be running. */
  readonly committedUntilMs: number
  readonly faults: readonly InjectedFault[]
  readonly puts: readonly Put[]
  readonly reads: readonly Read[]
  readonly erasures: readonly Erasure[]
  readonly runs: readonly Run[]
}

export interface PartyAnswer {
  readonly atMs: number
  /** A status, or `malformed`: 200, with no JSON. */
  readonly said: number | 'malformed'
}

export interface Send {
  readonly atMs: number
  readonly channel: string
  /** `eventId/n`. */
  readonly key: string
  /** The address. */
  readonly to: string
}

export interface InjectedFault {
  readonly kind: FaultKind
  /** Its other random choices. */
  readonly dice: number
  readonly fromMs: number
  readonly toMs: number
}

export interface Checked {
  /** All that are committed. Read after the snapshot was taken. */
  readonly records: readonly CommittedRecord[]
  /** The end offsets of that time, by topic. */
  readonly ends: ReadonlyMap<string, Offsets>
  readonly snapshot: Snapshot
  readonly evidence: Evidence
}

/** `running`: messages may be under way; `caught up`: all are consumed; `settled`: failed rows are retried, too. */
export type Stage = (typeof STAGES)[number]
const STAGES = ['running', 'caught up', 'settled'] as const

/** Each invariant, and from which stage on it holds. */
const INVARIANTS = {
  'one row per event': ['running', oneRowPerEvent],
  'each row is one that the model allows': ['running', rowsAllowed],
  'decisions and rows agree': ['running', decisionsAgree],
  'one receipt per row sent by EMAIL or SMS': ['running', oneReceiptPerRow],
  'each message goes to its own party': ['running', toOwnParty],
  'each rejected message once, with its place': ['running', rejectedOnce],
  'an acknowledged change of preferences is stored': ['running', acknowledgedStored],
  'a decision follows the newest acknowledged change': ['running', decidedByNewest],
  'a reader sees the newest acknowledged change': ['running', readsNewest],
  'no acknowledged opt-out is overrun': ['running', optOutsHeeded],
  'a decision follows a rule table that runs': ['running', decidedByRunningTable],
  'an erased member leaves no text': ['running', erasedLeaveNothing],
  'a pruned row is gone, and tells nobody again': ['running', prunedAreGone],
  'a redriven message has one row, a dismissed one none': ['running', redrivenOnce],
  'no checkpoint moves back': ['running', noCheckpointMovesBack],
  'nothing lies beyond its checkpoint': ['running', nothingBeyond],
  'all is caught up': ['caught up', caughtUp],
  'each row is sent, and sent once': ['caught up', sentOnce],
  'retries settle': ['settled', retriesSettled],
  'requests end': ['settled', requestsEnd],
} as const satisfies Record<string, readonly [Stage, (world: World) => Iterable<string>]>

export type InvariantName = keyof typeof INVARIANTS
export interface Violation {
  readonly invariant: InvariantName
  readonly what: string
}

/** Recomputes the truth from the input alone and says where the snapshot differs. */
export function check(checked: Checked, stage: Stage): Violation[] {
  const world = worldOf(checked)
  return Object.entries(INVARIANTS).flatMap(([invariant, [from, find]]) =>
    STAGES.indexOf(from) > STAGES.indexOf(stage)
      ? []
      : Array.from(find(world), (what) => ({ invariant: invariant as InvariantName, what })),
  )
}

interface World extends Checked {
  readonly truths: ReadonlyMap<string, Located>
  readonly checkpoints: ReadonlyMap<string, number>
  readonly rowsByLocator: ReadonlyMap<string, LogRow>
  readonly decisionsByLocator: ReadonlyMap<string, readonly DecisionRow[]>
  readonly goneByEventId: ReadonlyMap<string, Snapshot['gone']>
  readonly mended: ReadonlySet<string>
}

interface Located {
  readonly record: CommittedRecord
  readonly truth: Truth
}

interface Place {
  readonly topic: string
  readonly partition: number
  readonly offset: number
}

const partitionOf = ({ topic, partition }: Omit<Place, 'offset'>) => `${topic}/${partition}`
const placeOf = (place: Place) => `${partitionOf(place)}@${place.offset}`

function worldOf(checked: Checked): World {
  const { records, snapshot } = checked
  return {
    ...checked,
    truths: new Map(records.map((record) => [placeOf(record), { record, truth: truthOf(record.value) }])),
    checkpoints: new Map(snapshot.checkpoints.map((row) => [partitionOf(row), row.offset])),
    rowsByLocator: new Map(snapshot.log.map((row) => [row.locator, row])),
    decisionsByLocator: Map.groupBy(snapshot.decisions, ({ locator }) => locator),
    goneByEventId: Map.groupBy(snapshot.gone, ({ event_id }) => event_id),
    mended: new Set(snapshot.mended),
  }
}

/** Null for what is no event, or for one that the database refuses. */
function acceptedEvent({ mended }: World, truth: Truth | undefined): TrueEvent | null {
  if (truth?.kind === 'refused') return mended.has(truth.event.eventId) ? truth.event : null
  return truth?.kind === 'event' ? truth.event : null
}

/** The messages that are behind their checkpoints: those of which something must be there. */
function processed({ truths, checkpoints }: World): Located[] {
  return [...truths.values()].filter(
    ({ record }) => record.offset <= (checkpoints.get(partitionOf(record)) ?? -1),
  )
}

function* oneRowPerEvent(world: World): Iterable<string> {
  const rows = Map.groupBy(world.snapshot.log, ({ event_id }) => event_id)
  for (const [eventId, { length }] of rows) if (length > 1) yield `${eventId} has ${length} rows`
  const known = new Set<string>()
  for (const { truth } of world.truths.values()) {
    const event = acceptedEvent(world, truth)
    if (event !== null) known.add(event.eventId)
  }
  for (const eventId of rows.keys())
    if (!known.has(eventId)) yield `${eventId} has a row and was never published`
  for (const { record, truth } of processed(world)) {
    if (truth.kind !== 'event' || world.goneByEventId.has(truth.event.eventId)) continue
    if (!rows.has(truth.event.eventId))
      yield `${truth.event.eventId} at ${placeOf(record)} is lost: its checkpoint is past it, and it has no row`
  }
}

function* rowsAllowed(world: World): Iterable<string> {
  for (const row of world.snapshot.log) {
    const decisions = world.decisionsByLocator.get(row.locator) ?? []
    const event = decisions[0] ? acceptedEvent(world, world.truths.get(placeOf(decisions[0]))?.truth) : null
    if (event === null) {
      yield `${row.event_id}: no event is where its decision says that it came from`
      continue
    }
    const of = (fault: string) => `${row.event_id}: ${fault}`
    const isErased = decisions.some(({ is_erased }) => is_erased)
    yield* rowFaults(row, event, isErased).map(of)
    if (isErased && !world.evidence.erasures.some(({ party }) => party === row.party_locator))
      yield of('erased, and nobody asked for it')
    for (const decision of decisions) yield* decisionFaults(decision, event, world.evidence).map(of)
  }
}

function rowFaults(row: LogRow, event: TrueEvent, isErased: boolean): string[] {
  const text = row.status === 'SKIPPED' || isErased ? { subject: null, body: null } : textOf(event)
  return differences(row, {
    event_id: event.eventId,
    event_type: event.eventType,
    party_locator: event.partyLocator,
    ...text,
  })
}

function decisionFaults(made: DecisionRow, trueEvent: TrueEvent, evidence: Evidence): string[] {
  const { eventType, partyLocator } = trueEvent
  const optOuts = kindOf(partyLocator ?? '')?.preferences?.optedOutEvents
  // Whether the fickle ones had opted out by then, the register knows.
  const isOptedOut = isFickle(partyLocator) ? made.facts.optedOut === true : optOuts?.includes(eventType)
  const table = tableOf(made.rule_table_revision)
  if (table === undefined) return [`decided by an unknown rule table, ${made.rule_table_revision}`]
  const event = { ...trueEvent, isOptedOut: isOptedOut ?? false, table }
  const right = made.outcome === 'FAIL' ? decisionOnceFailed(event) : decisionOnceAnswered(event)
  const { reason } = right
  const reasonKept = right.outcome === 'FAIL' && made.reason?.startsWith(reason ?? '') ? made.reason : reason
  const faults = differences(made, {
    event_id: event.eventId,
    event_type: event.eventType,
    party_locator: event.partyLocator,
    outcome: right.outcome,
    channel: right.channel,
    rule_id: right.rule,
    reason: reasonKept,
    // Facts that the truth does not know are not compared.
    facts: { ...made.facts, ...right.facts },
    send_error: null,
  })
  const groundless = faults.length > 0 || event.partyLocator === null ? null : groundlessness(made, evidence)
  return groundless === null ? faults : [groundless]
}

/** A sleeping process finds its time-outs passed, a stopped look-up its deadline. */
const SLEEPS: readonly FaultKind[] = [
  'zombie',
  'zombie before START TRANSACTION',
  'zombie before COMMIT',
  'zombie at COMMIT',
]
/** A look-up that was answered, or not, waits for a database that stands still. */
const STANDSTILLS: readonly FaultKind[] = ['database frozen', 'connections frozen', 'partition locked']
const HANGS: readonly FaultKind[] = ['party look-ups hang', 'some parties hang']
const OUTAGES: readonly FaultKind[] = ['party look-ups fail', 'party look-ups hang', 'party look-ups garbled']
/** Two probes, 5 s apart, and the deadline of each; then whatever a busy machine adds. */
const OUTAGE_ECHO_MS = 20_000
const SLEEP_ECHO_MS = 10_000
/** How long a party is remembered that hung. */
const HUNG_ECHO_MS = 180_000

/** Each reason of a failed look-up, and what must have happened before it. */
const GROUNDS: readonly [
  reason: RegExp,
  given: (said: ReadonlySet<PartyAnswer['said']>, after: After) => boolean,
][] = [
  // First, for it quotes one of the others.
  [
    /the party was not looked up during an outage: /,
    (_, after) => after(OUTAGES, OUTAGE_ECHO_MS + SLEEP_ECHO_MS),
  ],
  [/ had an error \(HTTP 500\)$/, (said) => said.has(500)],
  [/ had an error \(HTTP 503\)$/, (said) => said.has(503)],
  [/ answered 200 with a body that is not a JSON object/, (said) => said.has('malformed')],
  // Less than the deadline, while others waited and were answered: what a busy machine does by itself.
  [/ (did not answer|was not reached) within 0\.\d+ s$/, () => true],
  [/ (did not answer|was not reached) within/, (_, after) => after([...HANGS, ...SLEEPS], SLEEP_ECHO_MS)],
  [
    / was not asked: a recent look-up of this party timed out/,
    (_, after) => after([...HANGS, ...SLEEPS], HUNG_ECHO_MS + SLEEP_ECHO_MS),
  ],
]
type After = (kinds: readonly FaultKind[], echoMs: number) => boolean

/** Why a decision cannot have been made by what policy administration had said until then; null where it can. */
function groundlessness(made: DecisionRow, { answers, faults }: Evidence): string | null {
  const heard = (answers.get(made.party_locator ?? '') ?? []).filter(
    ({ atMs }) => atMs <= made.decided_ms + 1,
  )
  const said = new Set(heard.map((answer) => answer.said))
  if (made.outcome !== 'FAIL') {
    const right = made.facts.party === 'found' ? 200 : 404
    return said.has(right)
      ? null
      : `decided as if policy administration had answered ${right}, which it had not`
  }
  const concerned = faults.filter(
    ({ kind, dice }) => kind !== 'some parties hang' || hangingBy(dice).includes(made.party_locator ?? ''),
  )
  const waited = faults.filter(
    ({ kind, fromMs, toMs }) =>
      STANDSTILLS.includes(kind) && made.decided_ms >= fromMs && made.decided_ms <= toMs + SLEEP_ECHO_MS,
  )
  const after: After = (kinds, echoMs) =>
    isWithin(concerned, kinds, made.decided_ms, 0, echoMs) ||
    waited.some(({ fromMs, toMs }) => isWithin(concerned, kinds, fromMs, toMs - fromMs, echoMs))
  const grounds = GROUNDS.find(([reason]) => reason.test(made.reason ?? ''))
  return grounds?.[1](said, after) ? null : `failed without grounds: ${made.reason}`
}

function isWithin(
  faults: readonly InjectedFault[],
  kinds: readonly FaultKind[],
  atMs: number,
  leadMs: number,
  echoMs: number,
): boolean {
  return faults.some(
    ({ kind, fromMs, toMs }) => kinds.includes(kind) && atMs >= fromMs - leadMs && atMs <= toMs + echoMs,
  )
}

const STATUS_OF: Readonly<Record<string, string>> = { SEND: 'SENT', SKIP: 'SKIPPED', FAIL: 'FAILED' }

function* decisionsAgree({ snapshot, rowsByLocator, decisionsByLocator }: World): Iterable<string> {
  for (const [locator, [first]] of decisionsByLocator) {
    if (!rowsByLocator.has(locator)) yield `${first?.event_id}: a decision without a row`
  }
  for (const row of snapshot.log) {
    const decisions = decisionsByLocator.get(row.locator) ?? []
    const last = decisions.at(-1)
    if (last === undefined) {
      yield `${row.event_id}: a row without a decision`
      continue
    }
    // A failed row that is erased is not retried any more.
    const isGone = last.is_erased && last.outcome === 'FAIL'
    const faults = differences(row, {
      status: isGone ? 'SKIPPED' : STATUS_OF[last.outcome],
      channel: last.channel,
      failure_reason: isGone ? 'erased before it was sent' : last.reason,
      attempt_count: last.attempt,
      event_id: last.event_id,
    })
    for (const fault of faults) yield `${row.event_id}: ${fault}`
    const firstAttempt = decisions[0]?.outcome === 'SEND' ? 1 : 0
    const attempts = decisions.map(({ attempt }) => attempt)
    const inOrder = attempts.every((attempt, i) => attempt === firstAttempt + i)
    if (!inOrder) yield `${row.event_id}: decisions have the attempts ${attempts}`
    // A skipped row is decided again only on request.
    const settledEarly = decisions.slice(0, -1).some(({ outcome }, i) => {
      const isAsked = outcome === 'SKIP' && (decisions[i + 1]?.request_id ?? null) !== null
      return outcome !== 'FAIL' && !isAsked
    })
    if (settledEarly)
      yield `${row.event_id}: decided again after it was ${decisions.map(({ outcome }) => outcome)}`
  }
}

/** The senders refuse nothing here, so no key but the first is ever used. */
function firstKey(eventId: string): string {
  return `${eventId}/1`
}

function* oneReceiptPerRow({ snapshot, decisionsByLocator }: World): Iterable<string> {
  for (const row of snapshot.log) {
    const receipts = (decisionsByLocator.get(row.locator) ?? []).flatMap(({ receipt }) => receipt ?? [])
    const isSent = row.status === 'SENT' && row.channel !== 'IN_APP'
    const rightCount = isSent ? 1 : 0
    if (receipts.length !== rightCount)
      yield `${row.event_id}: receipts ${JSON.stringify(receipts)} instead of ${rightCount}`
  }
}

function* toOwnParty({ truths, evidence }: World): Iterable<string> {
  const parties = new Map<string, string | null>()
  for (const { truth } of truths.values())
    if ('event' in truth) parties.set(truth.event.eventId, truth.event.partyLocator)
  for (const { key, channel, to } of evidence.sends) {
    const party = parties.get(key.slice(0, key.lastIndexOf('/')))
    // One that is not among the records yet cannot be judged.
    if (party === undefined) continue
    const right = party === null ? 'nobody' : channel === 'SMS' ? phoneOf(party) : emailOf(party)
    if (to !== right) yield `${key} went by ${channel} to ${to} instead of ${right}`
  }
}

function* rejectedOnce(world: World): Iterable<string> {
  const rejectedAt = Map.groupBy(world.snapshot.rejected, placeOf)
  const gone = new Set(world.snapshot.goneRejected.map(placeOf))
  for (const [place, rows] of rejectedAt) {
    if (rows.length > 1) yield `${place} is rejected ${rows.length} times`
    if (gone.has(place)) yield `${place} was pruned, and is rejected again`
    const { truth, record } = world.truths.get(place) ?? {}
    const code = truth && codeOf(truth)
    if (code === undefined) yield `${place} is rejected as ${rows[0]?.code}, and should not be`
    const kept = { code, key: record?.key, value: record?.value }
    if (code !== undefined)
      for (const row of rows) {
        const isErased = row.is_erased && mentionsForgotten(record?.value ?? null)
        const right = isErased ? { ...kept, key: null, value: null } : kept
        yield* differences(row, right).map((fault) => `${place}: ${fault}`)
      }
  }
  // If a batch has several refused events with the same id, only the first is tried.
  const refusedIds = new Set(
    [...rejectedAt.keys(), ...gone].map((place) => {
      const truth = world.truths.get(place)?.truth
      return truth?.kind === 'refused' ? truth.event.eventId : undefined
    }),
  )
  const rowIds = new Set(world.snapshot.log.map(({ event_id }) => event_id))
  const isLogged = ({ eventId }: TrueEvent) => rowIds.has(eventId) || world.goneByEventId.has(eventId)
  for (const { record, truth } of processed(world)) {
    const isKept =
      truth.kind === 'refused'
        ? refusedIds.has(truth.event.eventId) || isLogged(truth.event)
        : rejectedAt.has(placeOf(record)) || gone.has(placeOf(record))
    if (codeOf(truth) !== undefined && !isKept)
      yield `${placeOf(record)} (${codeOf(truth)}) is not among the rejected messages`
  }
}

/** Undefined: it is not to be rejected. */
function codeOf(truth: Truth): string | undefined {
  if (truth.kind === 'event' || truth.kind === 'tombstone') return undefined
  return truth.kind === 'refused' ? 'refused-by-database' : truth.code
}

function* prunedAreGone({
  snapshot,
  goneByEventId,
  rowsByLocator,
  decisionsByLocator,
}: World): Iterable<string> {
  for (const { locator, event_id, status, is_old } of snapshot.gone) {
    if (rowsByLocator.has(locator) || decisionsByLocator.has(locator))
      yield `${event_id} was pruned, and is not gone whole`
    if (!is_old || status === 'FAILED') yield `${event_id} was pruned, young or to be retried: ${status}`
  }
  for (const [locator, [first]] of decisionsByLocator) {
    for (const gone of (first && goneByEventId.get(first.event_id)) ?? []) {
      const checkpoint = first && gone.checkpoints[partitionOf(first)]
      // Published again after it, it counts as new.
      if (first && gone.locator !== locator && first.offset <= (checkpoint ?? -1))
        yield `${first.event_id} was pruned, and has another row, by ${placeOf(first)}, behind the checkpoint ${checkpoint}`
    }
  }
}

function* redrivenOnce(world: World): Iterable<string> {
  const { snapshot, rowsByLocator, truths } = world
  const results = Map.groupBy(snapshot.redrives, ({ message }) => message)
  const gone = new Map(snapshot.gone.map(({ locator, event_id }) => [locator, event_id]))
  const redriven = new Set(snapshot.redriven)
  for (const { id, is_erased, ...place } of snapshot.rejected) {
    const made = results.get(id) ?? []
    if (redriven.has(id) && made.length === 0 && !is_erased)
      yield `${placeOf(place)} was to be redriven, and has no result`
    const event = acceptedEvent(world, truths.get(placeOf(place))?.truth)
    for (const { result, locator } of made) {
      const isRight = event === null ? /^(rejected|dismissed)$/ : /^(logged|duplicate)$/
      if (!isRight.test(result))
        yield `${placeOf(place)}, ${event === null ? 'no' : 'an'} event, was ${result}`
      const logged = locator === null ? null : (rowsByLocator.get(locator)?.event_id ?? gone.get(locator))
      if (locator !== null && logged !== event?.eventId)
        yield `${placeOf(place)} was logged as ${locator}, the row of ${logged}`
    }
    if (made.filter(({ result }) => result === 'dismissed').length > 1)
      yield `${placeOf(place)} was dismissed twice`
  }
}

function* noCheckpointMovesBack({ snapshot }: World): Iterable<string> {
  for (const { topic, partition, was, became } of snapshot.setBack)
    yield `${topic}/${partition} went from ${was} to ${became ?? 'nothing'}`
}

function* nothingBeyond({ snapshot, ends, checkpoints }: World): Iterable<string> {
  if (snapshot.beyondCount > 0)
    yield `${snapshot.beyondCount} decisions were committed beyond their checkpoints`
  for (const row of [...snapshot.decisions, ...snapshot.rejected]) {
    if (row.offset > (checkpoints.get(partitionOf(row)) ?? -1))
      yield `${placeOf(row)} is there, and its checkpoint is not`
  }
  const lengths = new Map(partitionsOf(ends))
  for (const [partition, checkpoint] of checkpoints) {
    if (checkpoint >= (lengths.get(partition) ?? 0))
      yield `${partition} has the checkpoint ${checkpoint}, past its end`
  }
}

function* caughtUp({ ends, checkpoints }: World): Iterable<string> {
  for (const [partition, end] of partitionsOf(ends)) {
    const checkpoint = checkpoints.get(partition) ?? -1
    if (checkpoint !== end - 1) yield `${partition} has the checkpoint ${checkpoint} instead of ${end - 1}`
  }
}

function partitionsOf(ends: ReadonlyMap<string, Offsets>): [partition: string, end: number][] {
  return [...ends].flatMap(([topic, ofTopic]) =>
    Object.entries(ofTopic).map(([partition, end]): [string, number] => [`${topic}/${partition}`, end]),
  )
}

/** After these a transaction may have been broken off between its sends and its COMMIT, to be made again. */
const BREAKS: readonly FaultKind[] = [
  'kill',
  ...SLEEPS,
  'reply to COMMIT lost',
  'connections cut',
  'connections frozen',
  'connections terminated',
  'database crash',
  'database frozen',
  'synchronous fail-over',
  'asynchronous fail-over',
]
const BREAK_LEAD_MS = 5_000
const BREAK_ECHO_MS = 10_000

function* sentOnce({ snapshot, evidence, goneByEventId }: World): Iterable<string> {
  const sends = Map.groupBy(evidence.sends, ({ key }) => key.slice(0, key.lastIndexOf('/')))
  const sentRows = new Map(
    snapshot.log
      .filter(({ status, channel }) => status === 'SENT' && channel !== 'IN_APP')
      .map((row) => [row.event_id, row]),
  )
  for (const { event_id, channel } of sentRows.values()) {
    const isRecorded = sends
      .get(event_id)
      ?.some((send) => send.key === firstKey(event_id) && send.channel === channel)
    if (!isRecorded) yield `${event_id} is SENT, and the ${channel} sender was never handed it`
  }
  for (const [eventId, made] of sends) {
    // An interrupted send can be repeated, and a failed one is sent by a retry.
    const calm = made.filter(
      ({ atMs }) =>
        atMs < evidence.committedUntilMs &&
        !isWithin(evidence.faults, BREAKS, atMs, BREAK_LEAD_MS, BREAK_ECHO_MS),
    )
    if (made.some(({ key }) => key !== firstKey(eventId)))
      yield `${eventId} was sent by another key than its first`
    const gone = (goneByEventId.get(eventId) ?? []).filter((row) => row.status === 'SENT')
    const rowCount = gone.length + (sentRows.has(eventId) ? 1 : 0)
    if (calm.length > Math.max(rowCount, 1)) yield `${eventId} was handed to its sender ${made.length} times`
    if (rowCount === 0 && calm.length > 0) yield `${eventId} was sent, and has no row that says so`
  }
}

function* retriesSettled({ snapshot, decisionsByLocator }: World): Iterable<string> {
  for (const row of snapshot.log) {
    if (row.status !== 'FAILED') continue
    const facts = decisionsByLocator.get(row.locator)?.[0]
    if (!/^(error|malformed)-/.test(facts?.party_locator ?? ''))
      yield `${row.event_id} is still FAILED: ${row.failure_reason}`
  }
}

function* decidedByRunningTable({ snapshot, evidence }: World): Iterable<string> {
  for (const { event_id, rule_table_revision, decided_ms } of snapshot.decisions) {
    const table = tableOf(rule_table_revision)
    const isRunning = evidence.runs.some(
      (run) => run.table === table && run.fromMs <= decided_ms && decided_ms <= (run.toMs ?? decided_ms) + 1,
    )
    if (!isRunning)
      yield `${event_id} was decided at ${decided_ms} by the ${table} table, by which no replica decided then`
  }
}

function* requestsEnd({ snapshot: { openRequestCount } }: World): Iterable<string> {
  if (openRequestCount > 0) yield `${openRequestCount} requests are still open`
}

/** A transaction that was under way when an erasure began may have committed after it. */
const UNDER_WAY_MS_MAX = 20_000

function* erasedLeaveNothing({ snapshot, evidence, decisionsByLocator }: World): Iterable<string> {
  const lost = evidence.faults.filter(({ kind }) => kind === 'asynchronous fail-over')
  const mayBeLost = ({ startedMs, endedMs }: Erasure) =>
    lost.some(({ fromMs, toMs }) => startedMs <= toMs && (endedMs ?? toMs) >= fromMs)
  for (const erasure of evidence.erasures) {
    if (erasure.endedMs === null || mayBeLost(erasure)) continue
    for (const row of snapshot.log) {
      if (row.party_locator !== erasure.party) continue
      const decisions = decisionsByLocator.get(row.locator) ?? []
      const isOld = (decisions[0]?.decided_ms ?? 0) < erasure.startedMs - UNDER_WAY_MS_MAX
      const holdsText = row.subject !== null || row.body !== null
      if (isOld && (holdsText || decisions.some(({ has_variables }) => has_variables)))
        yield `${row.event_id} of ${erasure.party} holds text after the erasure of ${erasure.startedMs}`
    }
  }
}

function differences<Row extends object>(found: Row, right: { [Key in keyof Row]?: unknown }): string[] {
  return Object.entries(right).flatMap(([name, value]) => {
    const is = found[name as keyof Row]
    return isDeepStrictEqual(is, value) ? [] : [`${name} is ${shown(is)} instead of ${shown(value)}`]
  })
}

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value)
  return text.length > 200 ? `${text.slice(0, 200)}…` : text
}

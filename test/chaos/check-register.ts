import type { Put, Read } from './register.ts'
import type { Snapshot } from './snapshot.ts'

export interface RegisterWorld {
  readonly snapshot: Pick<Snapshot, 'changes' | 'decisions'>
  readonly evidence: {
    readonly puts: readonly Put[]
    readonly reads: readonly Read[]
    readonly sends: readonly { readonly key: string; readonly atMs: number }[]
    readonly faults: readonly { readonly kind: string; readonly fromMs: number; readonly toMs: number }[]
  }
}

/** The service sends by preferences that it read, without a lock, at most a second before: see transact.ts. */
const READ_AHEAD_MS_MAX = 1_000
/** A replica that falls asleep between the read and the hand-over cannot know how long it slept. */
const SLEEPS = ['zombie', 'zombie before START TRANSACTION', 'zombie before COMMIT', 'zombie at COMMIT']

/** Of one party, in the order of their numbers. */
interface History {
  /** Acknowledged PUTs that no fail-over may have lost. */
  readonly acknowledged: readonly Put[]
  readonly puts: readonly Put[]
  /** The place of each PUT in the order in which they took effect. */
  readonly changeIds: ReadonlyMap<number, number>
}

function histories({ snapshot, evidence }: RegisterWorld): ReadonlyMap<string, History> {
  const changes = Map.groupBy(snapshot.changes, ({ party }) => party)
  const fails = evidence.faults.filter(({ kind }) => kind === 'asynchronous fail-over')
  const mayBeLost = (ms: number) => fails.some(({ fromMs, toMs }) => ms >= fromMs && ms <= toMs)
  return new Map(
    [...Map.groupBy(evidence.puts, ({ party }) => party)].map(([party, puts]) => {
      const acknowledged = puts.filter(({ answeredMs }) => answeredMs !== null && !mayBeLost(answeredMs))
      const changeIds = new Map((changes.get(party) ?? []).map(({ number, id }) => [number, id]))
      return [party, { puts, acknowledged, changeIds }]
    }),
  )
}

/** The last acknowledged PUT of those that were answered before this time. */
function lastBefore({ acknowledged }: History, ms: number): Put | undefined {
  // The clock counts whole milliseconds.
  return acknowledged.findLast(({ answeredMs }) => answeredMs !== null && answeredMs + 1 < ms)
}

export function* acknowledgedStored(world: RegisterWorld): Iterable<string> {
  const counts = Map.groupBy(world.snapshot.changes, ({ party, number }) => `${party} ${number}`)
  for (const [party, { acknowledged }] of histories(world))
    for (const { number } of acknowledged) {
      const count = counts.get(`${party} ${number}`)?.length ?? 0
      if (count !== 1) yield `PUT ${number} of ${party} was acknowledged, and is stored ${count} times`
    }
}

/** A decision is dated when its transaction began. */
export function* decidedByNewest(world: RegisterWorld): Iterable<string> {
  const all = histories(world)
  for (const { party_locator: party, event_id, attempt, decided_ms, change_id } of world.snapshot.decisions) {
    const history = all.get(party ?? '')
    const last = history && lastBefore(history, decided_ms)
    if (last && (change_id ?? 0) < (history.changeIds.get(last.number) ?? 0))
      yield `${event_id}, attempt ${attempt}, was decided at ${decided_ms} by an older change than PUT ${last.number} of ${party}, answered at ${last.answeredMs}`
  }
}

export function* readsNewest({ snapshot, evidence }: RegisterWorld): Iterable<string> {
  const all = histories({ snapshot, evidence })
  for (const { party, number, sentMs } of evidence.reads) {
    const history = all.get(party)
    const last = history && lastBefore(history, sentMs)
    if (!last) continue
    const shown = number === null ? 0 : history.changeIds.get(number)
    // It showed one that a fail-over has lost since.
    if (shown !== undefined && shown < (history.changeIds.get(last.number) ?? 0))
      yield `a GET of ${party}, sent at ${sentMs}, showed PUT ${number}, and not PUT ${last.number}, answered at ${last.answeredMs}`
  }
}

/** No message is handed over once an opt-out is acknowledged, unless a PUT that opts in may have taken effect since. */
export function* optOutsHeeded(world: RegisterWorld): Iterable<string> {
  const all = histories(world)
  const sleeps = world.evidence.faults.filter(({ kind }) => SLEEPS.includes(kind))
  const readFromMs = (atMs: number) => {
    const since = sleeps.filter(({ fromMs, toMs }) => fromMs < atMs && toMs > atMs - READ_AHEAD_MS_MAX)
    return Math.min(atMs, ...since.map(({ fromMs }) => fromMs)) - READ_AHEAD_MS_MAX
  }
  const parties = new Map(world.snapshot.decisions.map((row) => [row.event_id, row.party_locator]))
  for (const { key, atMs } of world.evidence.sends) {
    const party = parties.get(key.slice(0, key.lastIndexOf('/'))) ?? ''
    const history = all.get(party)
    if (history === undefined) continue
    const last = lastBefore(history, readFromMs(atMs))
    if (!last?.optsOut) continue
    const placeOf = ({ number }: Put) => history.changeIds.get(number) ?? 0
    const mayBeSince = (put: Put) => put.number > last.number || placeOf(put) > placeOf(last)
    if (!history.puts.some((put) => !put.optsOut && put.sentMs <= atMs && mayBeSince(put)))
      yield `${key} was handed over at ${atMs}, ${atMs - (last.answeredMs ?? 0)} ms after the opt-out ${last.number} of ${party} was answered`
  }
}

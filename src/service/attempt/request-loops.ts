import type { Logger } from 'pino'
import { distinctParties } from '../decide/attempt/attempt.ts'
import { findReadingRefusal, findRefusal, type RetryCandidate } from '../decide/attempt/retry-candidate.ts'
import { isPostponed, type LookedUpEntry, type RetryEntry } from '../decide/attempt/retry-entry.ts'
import type { Message } from '../decide/event/message.ts'
import { pickVariables } from '../decide/event/parse-event.ts'
import { type Place, placeKey } from '../decide/event/position.ts'
import type { RejectedPage } from '../decide/event/rejected-message.ts'
import { findRedriveRefusal } from '../decide/event/rejection.ts'
import type { Contacts } from '../decide/party/contact.ts'
import type { LogPosition } from '../model/log/log-page.ts'
import { Held, requireNoHold } from '../model/request/hold.ts'
import { addResults, DONE, type End, PAUSED, type Progress } from '../model/request/request.ts'
import type {
  RejectedRequest,
  RejectedTarget,
  RetryRequest,
  RetryTarget,
  SkipTarget,
  TakenRequest,
} from '../model/request/schemas.ts'
import { errorMessage } from '../text/faults.ts'
import type { LookUpNeeds, PartiesAgain } from './look-up.ts'
import { lookUpRejected, redrive, type Unchanged } from './redrive.ts'
import { retryLocked } from './retry.ts'
import { type AttemptMaker, type AttemptsResult, NO_ATTEMPTS, transact } from './transact.ts'

export interface RequestNeeds {
  readonly maker: AttemptMaker
  readonly parties: PartiesAgain
  readonly lookUps: LookUpNeeds
  /** Takes the open request that has waited longest for its next page; null if there is none. */
  readonly takeRequest: () => Promise<TakenRequest | null>
  /** The next page of a retry's log entries, newest first; `next` is null on the last one. */
  readonly listRetryCandidates: (
    target: RetryTarget,
    after: LogPosition | null,
  ) => Promise<{ readonly candidates: readonly RetryCandidate[]; readonly next: LogPosition | null }>
  /** The messages at these places, by `placeKey`: null if there is none; places that were not read in time are missing. */
  readonly readMessages: (places: readonly Place[]) => Promise<ReadonlyMap<string, Message | null>>
  /** The next page of rejected messages, in the order of their ids. */
  readonly listRejected: (target: RejectedTarget, after: string | null) => Promise<RejectedPage>
  /** Dismisses a page of rejected messages, and records the progress. */
  readonly dismissPage: (request: RejectedRequest) => Promise<void>
  /** Skips an unreadable batch and records the end. Returns why nothing was skipped, or null. */
  readonly skipBatch: (request: TakenRequest, target: SkipTarget) => Promise<string | null>
  /** Gives a request back to all replicas after a page. */
  readonly releaseRequest: (id: string) => Promise<void>
  /** Lets a request wait a few seconds, and says why. */
  readonly postponeRequest: (id: string, note: string) => Promise<void>
  /** Notes on open requests that policy administration is down. */
  readonly notePaused: () => Promise<void>
  readonly log: Logger
}

const POLL_MS = 1_000
/** Requests that a replica works on at the same time. */
const LOOP_COUNT_MAX = 3

/** Messages that a page reads again: the others begin the next one. */
const READ_COUNT_MAX = 100

/** Carries out what people asked for: page by page, up to LOOP_COUNT_MAX requests at a time, beside dispatch and the background retry. */
export function createRequestLoops(needs: RequestNeeds) {
  const stopping = new AbortController()
  const loops = new Set<Promise<void>>()

  /** The first loop waits for requests; others help while there is more than one, and end when there is none left to take. */
  async function work(isFirst: boolean): Promise<void> {
    while (!stopping.signal.aborted) {
      const request = await take()
      if (request !== null) {
        if (loops.size < LOOP_COUNT_MAX) open(false)
        await processTaken(request)
      } else if (!isFirst) return
      else await needs.maker.clock.sleep(POLL_MS, stopping.signal).catch(() => {})
    }
  }

  function open(isFirst: boolean): void {
    const loop = work(isFirst).finally(() => loops.delete(loop))
    loops.add(loop)
  }

  async function take(): Promise<TakenRequest | null> {
    try {
      if (needs.parties.isDown()) await needs.notePaused()
      return await needs.takeRequest()
    } catch (error) {
      needs.log.warn({ err: error }, 'requests cannot be read; they wait')
      return null
    }
  }

  /** Processes one page. After an error the page is tried again later; a note at the request says why. */
  async function processTaken(request: TakenRequest): Promise<void> {
    const { id, kind } = request
    try {
      const isProcessed = await processPage(needs, request)
      if (isProcessed) await needs.releaseRequest(id)
    } catch (error) {
      const isHeld = error instanceof Held
      if (!isHeld)
        needs.log.warn({ err: error, request: id, kind }, 'a page of a request failed; it is tried again')
      const note = isHeld ? error.message : `tries again: ${errorMessage(error)}`
      await needs.postponeRequest(id, note).catch(() => {})
    }
  }

  return {
    start: (): void => open(true),
    stop: async (): Promise<void> => {
      stopping.abort()
      await Promise.all(loops)
    },
  }
}

/**
 * @internal Processes the next page of a request; false if it was postponed, since policy administration is down. Rejects if the page cannot
 * be read or committed, with `Held` while a hold is in force: then nothing is written.
 */
export async function processPage(needs: RequestNeeds, request: TakenRequest): Promise<boolean> {
  switch (request.kind) {
    case 'retry':
      return retryPage(needs, request)
    case 'redrive':
      return redrivePage(needs, request)
    case 'dismiss':
      await needs.dismissPage(request)
      return true
    case 'skip':
      await skip(needs, request, request.target)
      return true
    default:
      return request satisfies never
  }
}

async function skip(needs: RequestNeeds, request: TakenRequest, target: SkipTarget): Promise<void> {
  const note = await needs.skipBatch(request, target)
  if (note !== null) await record(needs, request, request.progress, { state: 'stopped', note })
}

/** Writes progress outside an attempt, unless the request has ended or another replica has processed the page. */
function record(
  { maker }: RequestNeeds,
  request: TakenRequest,
  progress: Progress,
  end: End | null,
): Promise<void> {
  return maker.store.transaction(async (tx) => {
    if (await tx.lockRequest(request)) await tx.recordProgress(request.id, progress, end)
  })
}

function lookUpAgain({ maker, parties }: RequestNeeds, asked: readonly string[]): Promise<Contacts> {
  return maker.stage('retry_contacts', asked, () => parties.lookUpAgain(asked))
}

/** Retries one page of log entries in one transaction, together with the progress. */
async function retryPage(needs: RequestNeeds, request: RetryRequest): Promise<boolean> {
  if (needs.parties.isDown()) return postponed(needs, request)
  const { target, progress } = request
  const { candidates, next } = await needs.listRetryCandidates(target, progress.position)
  requireNoHold(
    await needs.maker.store.readHolds(),
    candidates.map(({ decision }) => decision?.topic ?? null),
  )
  const prepared = await prepareEntries(needs, target, candidates)
  const allowed = prepared.filter((entry) => entry !== null && 'locator' in entry)
  const contacts = await lookUpAgain(needs, distinctParties(allowed))
  const isDown = needs.parties.isDown()
  const page: Page = new Map()
  for (const [i, { locator }] of candidates.entries()) {
    const judged = judgePrepared(prepared[i] ?? null, contacts, isDown)
    if (judged === null) break
    page.set(locator, judged)
  }
  const last = candidates[page.size - 1]
  if (page.size === candidates.length) await commitRequested(needs, request, page, next)
  else if (last === undefined) return postponed(needs, request)
  else await commitRequested(needs, request, page, { createdAt: last.createdAt, locator: last.locator })
  return true
}

/** By locator, the entries to retry and those that stay as they are. */
type Page = Map<string, LookedUpEntry | Unchanged>

/** Null if it begins the next page: it was not read or looked up in time, or policy administration went down. */
function judgePrepared(
  prepared: RetryEntry | Unchanged | null,
  contacts: Contacts,
  isDown: boolean,
): LookedUpEntry | Unchanged | null {
  if (prepared === null || 'reason' in prepared) return prepared
  const { partyLocator } = prepared
  const contact = contacts.get(partyLocator ?? '')
  if (partyLocator !== null && contact === undefined) return null
  if (isDown && contact?.state === 'unresolved') return null
  const entry = { due: prepared, contact }
  return isPostponed(entry) ? { reason: 'policy administration could not be asked' } : entry
}

/** A null position ends the request. */
async function commitRequested(
  needs: RequestNeeds,
  request: TakenRequest,
  page: Page,
  position: LogPosition | null,
): Promise<void> {
  const entries = [...page.values()].filter((judged) => 'due' in judged)
  await transact(needs.maker, async (run) => {
    if (!(await run.tx.lockRequest(request))) return NO_ATTEMPTS
    const result = await retryLocked(run, entries, request)
    const results = [...page].map(
      ([locator, judged]) => [locator, 'due' in judged ? findResult(locator, result) : judged] as const,
    )
    const progress = addResults(request.progress, position, results)
    await run.tx.recordProgress(request.id, progress, position === null ? DONE : null)
    return result
  })
}

/** Each candidate as an entry to retry, or why it stays as it is; null if its message was not read in time. */
async function prepareEntries(
  { readMessages, lookUps }: RequestNeeds,
  { readAgain }: RetryTarget,
  candidates: readonly RetryCandidate[],
): Promise<readonly (RetryEntry | Unchanged | null)[]> {
  const refusals = candidates.map(
    (candidate) => findRefusal(candidate) ?? (readAgain ? findReadingRefusal(candidate) : null),
  )
  const places = candidates.flatMap(({ decision }, i) =>
    readAgain && refusals[i] === null && decision !== null ? [decision] : [],
  )
  const messages = await readMessages(places.slice(0, READ_COUNT_MAX))
  return Promise.all(
    candidates.map((candidate, i) => {
      const { decision } = candidate
      const reason = refusals[i] ?? null
      if (reason !== null) return { reason }
      if (!readAgain || decision === null) return candidate
      const message = messages.get(placeKey(decision))
      return message === undefined ? null : readEntry(lookUps, candidate, message, decision)
    }),
  )
}

/** The entry by the envelope map in force. Its message must still be the one that its last decision read. */
async function readEntry(
  { parserFor, parseBy, envelopeMapRevision }: LookUpNeeds,
  candidate: RetryCandidate,
  message: Message | null,
  { topic, envelopeMapRevision: revisionThen }: NonNullable<RetryCandidate['decision']>,
): Promise<RetryEntry | Unchanged> {
  const { eventId } = candidate
  if (message === null) return { reason: 'the broker has no message at its offset any more' }
  const then = await parseBy(topic, message, revisionThen)
  const isSame =
    then.kind === 'event' &&
    then.event.eventId === eventId &&
    then.event.eventType === candidate.eventType &&
    then.event.partyLocator === candidate.partyLocator
  if (!isSame) return { reason: 'another message is at its offset: its topic was recreated' }
  const now = parserFor(topic)(message)
  if (now.kind !== 'event') return { reason: 'its message is no event by the envelope map in force' }
  const { eventType, partyLocator, stated } = now.event
  // A message with that id may have a row, or get one later: its member would be told twice.
  if (now.event.eventId !== eventId) return { reason: 'the envelope map in force gives it another event id' }
  const reading = { variables: pickVariables(now.event), stated, envelopeMapRevision }
  return { ...candidate, eventType, partyLocator, reading }
}

async function postponed(needs: RequestNeeds, { id }: TakenRequest): Promise<false> {
  await needs.postponeRequest(id, PAUSED)
  return false
}

function findResult(locator: string, { attempts, refused, unchanged }: AttemptsResult): string | Unchanged {
  const attempt = attempts.find((made) => made.locator === locator)
  if (attempt !== undefined) return attempt.status
  const error = [...refused].find(([open]) => open.locator === locator)?.[1]
  if (error !== undefined) return { reason: `the database refused it: ${error.message}` }
  return {
    reason: unchanged.get(locator) ?? 'another process has it, or changed it, or its member was erased',
  }
}

/** Takes a page of rejected messages through the pipeline again, each in its own transaction, with the progress. */
async function redrivePage(needs: RequestNeeds, taken: RejectedRequest): Promise<boolean> {
  const { messages, next } = await needs.listRejected(taken.target, taken.progress.position)
  if (messages.length === 0) {
    const progress = next === null ? taken.progress : addResults(taken.progress, String(next), [])
    await record(needs, taken, progress, next === null ? DONE : null)
  }
  const holds = await needs.maker.store.readHolds()
  let request = taken
  for (const message of messages) {
    requireNoHold(holds, [message.topic])
    if (needs.parties.isDown()) return postponed(needs, request)
    const id = String(message.id)
    const reason = findRedriveRefusal(message.code, message.erasedAt !== null)
    let progress: Progress<string> | null
    if (reason !== null) {
      progress = addResults(request.progress, id, [[id, { reason }]])
      await record(needs, request, progress, null)
    } else {
      const lookedUp = await lookUpRejected(needs.lookUps, message)
      const isUnresolved = lookedUp.open.some(({ contact }) => contact?.state === 'unresolved')
      if (isUnresolved && needs.parties.isDown()) return postponed(needs, request)
      progress = await redrive(needs.maker, message, lookedUp, request)
      if (progress === null) return true
    }
    request = { ...request, progress }
  }
  return true
}

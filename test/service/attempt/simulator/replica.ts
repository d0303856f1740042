import { processPage, type RequestNeeds } from '../../../../src/service/attempt/request-loops.ts'
import type { RetryCandidate } from '../../../../src/service/decide/attempt/retry-candidate.ts'
import { placeKey } from '../../../../src/service/decide/event/position.ts'
import type { StoredRejectedMessage } from '../../../../src/service/decide/event/rejected-message.ts'
import type { TakenRequest } from '../../../../src/service/model/request/schemas.ts'
import { aCandidateDecision, aRetryCandidate } from '../../decide/attempt/build.ts'
import type { MemoryStore, StoredRejection } from '../memory-store.ts'
import { type Actor, isOutage } from './actor.ts'
import { parties } from './contacts.ts'
import { repaired } from './messages.ts'
import { lookUpNeeds } from './owner.ts'
import { SILENT, type World } from './world.ts'

/** Items of a page of a request. */
const PAGE_COUNT = 2

/** A replica works on open requests in any order: its lease is no promise, only the fence is. */
export async function serve(world: World, actor: Actor): Promise<void> {
  const { memory, scheduler, random, counts } = world
  for (let turn = 0; turn < 12; turn++) {
    await scheduler.step(random.below(30))
    const request = random.pick([null, ...world.openRequests()])
    if (request === null) continue
    counts.pages++
    const before = request.progress
    await processOrFail(world, actor, request)
    const after = memory.requests().find(({ id }) => id === request.id)
    if (after?.progress === before && after.end === null) counts.lostPages++
  }
}

/** The database may refuse a decision that is made again just before the send: the next turn finds it before it sends. */
async function processOrFail(world: World, actor: Actor, request: TakenRequest): Promise<void> {
  await processPage(requestNeeds(world, actor), request).catch((error) => {
    if (!isOutage(error)) throw error
  })
}

export async function serveToTheEnd(world: World, actor: Actor): Promise<void> {
  for (let turn = 0; turn < 1_000; turn++) {
    const [request] = world.openRequests()
    if (request === undefined) return
    await processOrFail(world, actor, request)
  }
}

function requestNeeds(world: World, actor: Actor): RequestNeeds {
  const { memory, partitions } = world
  const unused = () => Promise.reject(new Error('not part of the simulation'))
  return {
    maker: actor.maker,
    parties: parties(world, actor),
    takeRequest: unused,
    listRetryCandidates: (target, after) => listCandidates(world, actor, target, after),
    listRejected: async (_, after) => {
      await actor.step()
      const left = memory.rejected().filter(({ id }) => id > BigInt(after ?? 0))
      const messages = left
        .sort((a, b) => Number(a.id - b.id))
        .slice(0, PAGE_COUNT)
        .map(describeRejected)
      return { messages, next: messages.at(-1)?.id ?? null }
    },
    readMessages: async (places) => {
      await actor.step()
      return new Map(
        places.map((place) => [placeKey(place), partitions[place.partition]?.[Number(place.offset)] ?? null]),
      )
    },
    lookUps: lookUpNeeds(world, actor, 'next map'),
    dismissPage: unused,
    skipBatch: unused,
    releaseRequest: unused,
    postponeRequest: async () => {},
    notePaused: unused,
    log: SILENT,
  }
}

async function listCandidates(
  { memory }: World,
  actor: Actor,
  target: Parameters<RequestNeeds['listRetryCandidates']>[0],
  after: Parameters<RequestNeeds['listRetryCandidates']>[1],
) {
  await actor.step()
  const wanted = memory
    .rows()
    .filter(({ locator, status }) =>
      'locators' in target ? target.locators.includes(locator) : status !== 'SENT',
    )
    .filter(({ locator }) => after === null || locator < after.locator)
    .sort((a, b) => (a.locator < b.locator ? 1 : -1))
  const candidates = wanted.slice(0, PAGE_COUNT).map((row) => describeCandidate(memory, row))
  const last = candidates.at(-1)
  const isMore = wanted.length > candidates.length && last !== undefined
  return { candidates, next: isMore ? { createdAt: last.createdAt, locator: last.locator } : null }
}

function describeCandidate(
  memory: MemoryStore,
  { locator, status }: ReturnType<MemoryStore['rows']>[number],
): RetryCandidate {
  const entry = [...memory.entries('FAILED'), ...memory.entries('SKIPPED')].find(
    (one) => one.locator === locator,
  )
  if (entry === undefined || status === 'SENT') return aRetryCandidate(locator, { status: 'SENT' })
  const { reference } = memory.logged().get(entry.eventId) ?? {}
  const variables = { eventType: 'claim.paid', locator: reference ?? '', reason: null }
  const { origin } = memory.decisions().findLast((one) => one.locator === locator) ?? {}
  const decision = aCandidateDecision({ ...origin, variables })
  return aRetryCandidate(locator, { ...entry, status, isGivenUp: true, decision })
}

/** A rejected message as it is read for a redrive, after its producer repaired it. */
function describeRejected({ id, topic, partition, message }: StoredRejection): StoredRejectedMessage {
  const stored = { code: 'not-json', error: 'no', rejectedAt: '', erasedAt: null, redriven: null }
  return { id, topic, partition, message: repaired(message), ...stored }
}

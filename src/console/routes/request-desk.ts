import { getRequest, listRequests } from '../../operations/requests/list-requests.ts'
import { ONE_ITEM, previewRequest } from '../../operations/requests/preview-request.ts'
import { resolveTarget } from '../../operations/requests/resolve-target.ts'
import type { ConsoleParts } from '../../service/app/listeners.ts'
import { sha256 } from '../../service/app/sha256.ts'
import { findSkipReason, type RetryCandidate } from '../../service/decide/attempt/retry-candidate.ts'
import type { Preferences } from '../../service/decide/party/preferences.ts'
import { describeUnknownTopics } from '../../service/model/request/hold.ts'
import type { StoredRequest } from '../../service/model/request/schemas.ts'
import type { DatabasePool } from '../../service/store/connection/pool.ts'
import { readUntil } from '../../service/store/connection/read-until.ts'
import { awaitAttempts } from '../../service/store/write/attempts-lock.ts'
import { addRequest, cancelRequest } from '../../service/store/write/request-row.ts'
import { resumeHolds } from '../../service/store/write/resume-holds.ts'
import { CorrectableError } from '../../service/text/faults.ts'
import type { Requests, Wanted } from './request-routes.ts'

/** Of a UUID, as keys are stored. */
const KEY_DIGITS = 32

/** Adds requests. Previews judge by current preferences and rules, as far as known without a look-up. */
export function createRequestDesk({
  config,
  ruleFiles: { ruleTable, envelopeMaps },
  database: { httpPool, listPool },
}: ConsoleParts): Requests {
  const willBeSkipped = (candidate: RetryCandidate, preferences: Preferences | undefined) =>
    findSkipReason(ruleTable.decide, candidate, preferences)
  /** Throws CorrectableError for a hold that would stop nothing. A resume may name a topic that is no longer consumed. */
  const check = (wanted: Wanted) => {
    const topics = wanted.kind === 'hold' ? (wanted.topics ?? []) : []
    const unknown = describeUnknownTopics(topics, config.broker.topics)
    if (unknown !== null) throw new CorrectableError(unknown)
  }
  return {
    list: async (page) => listRequests(listPool(), page),
    get: async (id) => getRequest(httpPool(), id),
    preview: async (wanted, signal) =>
      readUntil(signal, listPool(), async (connection) => {
        check(wanted)
        if (wanted.kind === 'hold' || wanted.kind === 'resume') return ONE_ITEM
        const target = await resolveTarget(connection, wanted)
        return previewRequest(connection, config.retry, target, envelopeMaps, willBeSkipped)
      }),
    add: async (wanted, by, because, key) => {
      check(wanted)
      const ownKey = key === null ? null : deriveKey(wanted, key)
      const added = await getRequest(httpPool(), await addWanted(httpPool(), wanted, by, because, ownKey))
      if (added === null) throw new Error('the request that was added is gone')
      if (wanted.kind === 'hold') requireInForce(added)
      return added
    },
    cancel: async (id, by) => cancelRequest(httpPool(), id, by),
  }
}

/** Adds a request, or changes a hold. Returns the id of the request. */
async function addWanted(
  pool: DatabasePool,
  wanted: Wanted,
  by: string,
  because: string,
  key: string | null,
): Promise<string> {
  switch (wanted.kind) {
    case 'hold': {
      const { kind, ...target } = wanted
      const id = await addRequest(pool, { kind, target }, by, because, key)
      await awaitAttempts(pool)
      return id
    }
    case 'resume': {
      const { hold } = wanted
      const [resumed] = await resumeHolds(pool, [hold], by, because)
      // Another version may have its own kind of hold; an ended hold stays unchanged.
      if (resumed === undefined && (await getRequest(pool, hold))?.kind !== 'hold')
        throw new CorrectableError(`request ${hold} is no hold that this version can end`)
      return hold
    }
    default:
      return addRequest(pool, await resolveTarget(pool, wanted), by, because, key)
  }
}

/** A key as it is stored: one that comes again with another request is a key of its own, so that neither request is lost. */
function deriveKey(wanted: Wanted, key: string): string {
  return sha256(key + JSON.stringify(wanted)).slice(0, KEY_DIGITS)
}

/** Throws CorrectableError if the key belongs to a hold that has ended: nothing is held. */
function requireInForce({ id, endedAt }: StoredRequest): void {
  if (endedAt !== null)
    throw new CorrectableError(`the key belongs to request ${id}, a hold that has ended: choose another key`)
}

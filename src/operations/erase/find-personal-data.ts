import type { StoredRejectedMessage } from '../../service/decide/event/rejected-message.ts'
import type { DatabasePool } from '../../service/store/connection/pool.ts'
import { ALL_REJECTED, readRejected } from '../../service/store/read/list-rejected-messages.ts'
import { type EntriesOfParty, findEntries } from './erase-entries.ts'
import { findCheckpointReasons, readUnclearReasons } from './erase-reasons.ts'
import { readRedriveErrors } from './erase-rejected-messages.ts'
import { findRequests, readNames } from './erase-requests.ts'
import { isUnreadable, type Search } from './find-mention.ts'
import type { Naming } from './names-in-text.ts'

/** The data stored about a person, by kind of place, page by page. */
export type PersonalData =
  | { readonly kind: 'requests'; readonly ids: readonly bigint[]; readonly naming: Naming }
  | { readonly kind: 'checkpointChanges'; readonly ids: readonly bigint[] }
  | { readonly kind: 'preferences' }
  | RejectedMessages
  | ({ readonly kind: 'logEntries' } & Omit<EntriesOfParty, 'longer'>)
  /** Names of items that may be another member's. */
  | { readonly kind: 'unclear'; readonly names: readonly string[] }

interface RejectionReason {
  readonly id: bigint
  readonly texts: readonly string[]
}

interface RejectedMessages {
  readonly kind: 'rejectedMessages'
  readonly named: readonly StoredRejectedMessage[]
  /** Errors of other messages that name the party: a skip and a dismissal store the operator's reason there. */
  readonly reasons: readonly RejectionReason[]
  /** Number of messages without a readable envelope. */
  readonly searchedAsBytes: number
}

/**
 * Finds all data of a party in an order suitable for erasure: each item comes after the items found through it, so that an
 * interrupted erasure finds the rest again. Rejected messages come before the entries that running redrives write, for which this
 * waits.
 */
export async function* findPersonalData(
  pool: DatabasePool,
  search: Search,
  onProgress: (decisions: number) => void,
): AsyncGenerator<PersonalData> {
  const { party } = search
  yield* reasonsNaming(pool, { names: [party], word: party })
  yield* findUnclearReasons(pool, search)
  yield { kind: 'preferences' }
  yield* findNamingMessages(pool, search)
  for await (const { longer, ...entries } of findEntries(pool, search, onProgress)) {
    if (entries.locators.length > 0)
      yield* reasonsNaming(pool, { names: await readNames(pool, entries.locators) })
    yield { kind: 'logEntries', ...entries }
    yield { kind: 'unclear', names: longer }
  }
}

/** The name of an item in results and in `--message`. */
export function listNames(data: PersonalData): readonly string[] {
  switch (data.kind) {
    case 'requests':
      return data.ids.map((id) => `request:${id}`)
    case 'checkpointChanges':
      return data.ids.map((id) => `checkpoint:${id}`)
    case 'rejectedMessages':
      return [...data.named, ...data.reasons].map(({ id }) => String(id))
    case 'logEntries':
      return data.locators
    case 'unclear':
      return data.names
    case 'preferences':
      return []
  }
}

async function* reasonsNaming(pool: DatabasePool, naming: Naming): AsyncGenerator<PersonalData> {
  yield { kind: 'requests', ids: await findRequests(pool, naming), naming }
  yield { kind: 'checkpointChanges', ids: await findCheckpointReasons(pool, naming) }
}

async function* findUnclearReasons(
  pool: DatabasePool,
  { party, wanted, mentionIn }: Search,
): AsyncGenerator<PersonalData> {
  const read = await readUnclearReasons(pool, party)
  const found = read.filter(({ text }) => mentionIn(text) !== null)
  const isWanted = (name: string) => wanted.has(name)
  const wantedTexts = found.filter(({ kind, id }) => isWanted(`${kind}:${id}`)).map(({ text }) => text)
  const listIds = (kind: 'request' | 'checkpoint') => [
    ...new Set(
      found.filter((reason) => reason.kind === kind && isWanted(`${kind}:${reason.id}`)).map(({ id }) => id),
    ),
  ]
  yield { kind: 'requests', ids: listIds('request'), naming: { texts: wantedTexts } }
  yield { kind: 'checkpointChanges', ids: listIds('checkpoint') }
  const names = new Set(found.map(({ kind, id }) => `${kind}:${id}`))
  yield { kind: 'unclear', names: [...names].filter((name) => !isWanted(name)) }
}

async function* findNamingMessages(
  pool: DatabasePool,
  { party, wanted, mentionIn, mentionInMessage, isNamedIn }: Search,
): AsyncGenerator<PersonalData> {
  // Includes erased messages, whose later dismissal may name the party.
  for await (const page of readRejected(pool, ALL_REJECTED)) {
    const named: StoredRejectedMessage[] = []
    const reasons: RejectionReason[] = []
    const unclear: string[] = []
    const ofRedrives = await readRedriveErrors(
      pool,
      party,
      page.map(({ id }) => id),
    )
    for (const rejected of page) {
      const { id, topic, message, error } = rejected
      const isWanted = wanted.has(String(id))
      const mention = mentionInMessage(topic, message)
      const errors = [error, ...(ofRedrives.get(id) ?? [])].filter((text) => mentionIn(text) !== null)
      const naming = isWanted ? errors : errors.filter(isNamedIn)
      if (mention === 'named' || (mention !== null && isWanted)) named.push(rejected)
      else {
        if (naming.length > 0) reasons.push({ id, texts: naming })
        if (mention !== null || naming.length < errors.length) unclear.push(String(id))
      }
    }
    const naming = { ids: named.map(({ id }) => id) }
    if (named.length > 0) yield* reasonsNaming(pool, naming)
    const searchedAsBytes = page.filter(({ message }) => isUnreadable(message.value)).length
    yield { kind: 'rejectedMessages', named, reasons, searchedAsBytes }
    yield { kind: 'unclear', names: unclear }
  }
}

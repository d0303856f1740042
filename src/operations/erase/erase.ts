import { ENVELOPE_MAP, readText } from '../../service/app/rule-files.ts'
import { type EnvelopeMaps, loadEnvelopeMaps, mapOf } from '../../service/decide/event/envelope-map.ts'
import type { DatabasePool } from '../../service/store/connection/pool.ts'
import { ALL_REJECTED, readRejected } from '../../service/store/read/list-rejected-messages.ts'
import { counted } from '../../service/text/count.ts'
import { confirm, type WriteOptions, withWriteOptions, wouldDo } from '../../terminal/confirm.ts'
import { newCommand, partyOption } from '../../terminal/options.ts'
import { print, showProgress } from '../../terminal/print.ts'
import { withDatabase } from '../../terminal/with-database.ts'
import { entriesToErase, eraseEntries } from './erase-entries.ts'
import { countPreferencesToErase, erasePreferences } from './erase-preferences.ts'
import { eraseRejected } from './erase-rejected-messages.ts'
import { eraseRequests, findRequests, type Naming, readNames } from './erase-requests.ts'
import { beginErasure, type ErasureCounts, finishErasures } from './erasure-record.ts'
import { findMention, isUnreadable } from './find-mention.ts'

export const eraseCommand = withWriteOptions(
  newCommand('erase', {
    notes: `Rows, event ids and the fact of the erasure stay, so that nothing is sent again; opt-outs stay in force. Every
failed row becomes SKIPPED, given up or not. Requests that name the party or its entries stay with their counts; an open one whose
filter names them is cancelled. Events that arrive later are new: run the command again. It can be interrupted and run again.
Backups and messages in the broker are not touched. DATABASE_URL names the database.`,
    exitCodes: '0 done, 1 failed',
    example: 'erase --party PTY-000042 --dry-run',
  }),
)
  .description(
    'erase the personal data of a party: texts, inserted values, contacts, rejected messages, requests',
  )
  .addOption(partyOption('locator of the party').makeOptionMandatory())
  .option('--dry-run', 'write nothing; show what would be erased')
  .option('--json', 'print the result as one JSON object')
  .action(erase)

/** Two halves of the log are compared with the decisions at once. */
const CONNECTION_COUNT = 2

interface Options extends WriteOptions {
  readonly party: string
}

interface Found extends ErasureCounts {
  /** Rejected messages without a readable envelope. */
  readonly searchedAsBytes: number
  readonly requests: number
}

async function erase({ party, dryRun, yes, by, json }: Options): Promise<void> {
  const envelopeMaps = loadEnvelopeMaps(await readText(ENVELOPE_MAP))
  await withDatabase(async (pool) => {
    const search = { pool, party, envelopeMaps }
    // Without a question there is no need to search twice.
    const found = yes && !dryRun ? null : await run(search, null)
    const isWanted = async (counts: Found) =>
      !dryRun &&
      (isNothing(counts) ||
        (await confirm(`Permanently erase ${describeFound(counts)} of ${party}?`, { yes })))
    // Recorded also if there is nothing: a message that is read again later may name the party.
    const isDone = found === null || (await isWanted(found))
    const counts = found === null || isDone ? await eraseAll(search, by) : found
    if (json) await print(JSON.stringify({ party, erased: isDone, ...counts }))
    else await print(...describeErasure(party, counts, isDone ? 'Erased' : wouldDo(dryRun, 'erase')))
  }, CONNECTION_COUNT)
}

function isNothing({
  logEntries,
  preferences,
  preferenceChanges,
  rejectedMessages,
  requests,
}: Found): boolean {
  return logEntries + preferences + preferenceChanges + rejectedMessages + requests === 0
}

interface Search {
  readonly pool: DatabasePool
  readonly party: string
  readonly envelopeMaps: EnvelopeMaps
}

async function eraseAll(search: Search, by: string): Promise<Found> {
  const erasure = await beginErasure(search.pool, search.party, by)
  const counts = await run(search, erasure)
  await finishErasures(search.pool, search.party)
  return counts
}

/** Goes through all stored data of a party, and blanks it in small transactions. Without an erasure it only counts. */
async function run({ pool, party, envelopeMaps }: Search, erasure: bigint | null): Promise<Found> {
  const sum = { logEntries: 0, retries: 0, rejectedMessages: 0, searchedAsBytes: 0 }
  const requestIds = new Set<bigint>()
  // Before what leads to them is erased: an interrupted erasure finds them again.
  const onRequests = async (naming: Naming) => {
    const ids = await (erasure === null ? findRequests : eraseRequests)(pool, naming)
    for (const id of ids) requestIds.add(id)
  }
  await onRequests({ names: [party], word: party })
  const preferences =
    erasure === null
      ? await countPreferencesToErase(pool, party)
      : await erasePreferences(pool, erasure, party)
  // Before the log entries: this waits for running redrives, whose rows are then found below.
  for await (const page of readRejected(pool, { ...ALL_REJECTED, kept: true })) {
    const ids = page
      .filter(({ topic, message }) => findMention(message, party, mapOf(envelopeMaps, topic)) !== null)
      .map(({ id }) => id)
    if (ids.length > 0) await onRequests({ ids })
    sum.rejectedMessages += erasure === null ? ids.length : await eraseRejected(pool, erasure, ids)
    sum.searchedAsBytes += page.filter(({ topic, message }) =>
      isUnreadable(message.value, mapOf(envelopeMaps, topic)),
    ).length
    showProgress(`${sum.rejectedMessages} rejected messages`)
  }
  const onDecisions = (decisions: number) => showProgress(`${decisions} decisions compared with the log`)
  for await (const { locators, retries } of entriesToErase(pool, party, onDecisions)) {
    await onRequests({ names: await readNames(pool, locators) })
    const counts =
      erasure === null
        ? { logEntries: locators.length, retries }
        : await eraseEntries(pool, erasure, locators)
    sum.logEntries += counts.logEntries
    sum.retries += counts.retries
    showProgress(`${sum.logEntries} log entries`)
  }
  return { ...sum, ...preferences, requests: requestIds.size }
}

function describeFound({
  logEntries,
  retries,
  preferences,
  preferenceChanges,
  rejectedMessages,
  requests,
}: Found): string {
  return [
    `${counted(logEntries, 'log entry', 'log entries')} (${retries} of them failed and will not be retried)`,
    counted(requests, 'request'),
    `contacts in ${counted(preferences, 'set', 'sets')} of preferences and ${counted(preferenceChanges, 'preference change')}`,
    counted(rejectedMessages, 'rejected message'),
  ].join(', ')
}

function describeErasure(party: string, counts: Found, did: string): string[] {
  const first = isNothing(counts)
    ? `Nothing left to erase of ${party}`
    : `${did} ${describeFound(counts)} of ${party}`
  if (counts.searchedAsBytes === 0) return [first]
  const unread =
    `${counted(counts.searchedAsBytes, 'rejected message')} without a readable envelope: the bytes were searched for the locator ` +
    'as UTF-8 and UTF-16, which does not find compressed or encrypted text (see `rejected list`, `rejected show`)'
  return [first, unread]
}

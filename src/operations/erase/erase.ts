import { ENVELOPE_MAP, readText } from '../../service/app/rule-files.ts'
import { type EnvelopeMaps, loadEnvelopeMaps, mapOf } from '../../service/decide/event/envelope-map.ts'
import type { DatabasePool } from '../../service/store/connection/pool.ts'
import { ALL_REJECTED, readRejected } from '../../service/store/read/list-rejected-messages.ts'
import { counted } from '../../service/text/count.ts'
import { confirm, type WriteOptions, withWriteOptions, wouldDo } from '../../terminal/confirm.ts'
import { addId, newCommand, partyOption } from '../../terminal/options.ts'
import { print, showProgress } from '../../terminal/print.ts'
import { withDatabase } from '../../terminal/with-database.ts'
import type { World } from '../../terminal/world.ts'
import { entriesToErase, eraseEntries } from './erase-entries.ts'
import { countPreferencesToErase, erasePreferences } from './erase-preferences.ts'
import { countCheckpointReasons, eraseCheckpointReasons } from './erase-reasons.ts'
import { eraseErrors, eraseRejected } from './erase-rejected-messages.ts'
import { eraseCopiedReasons, eraseRequests, findRequests, type Naming, readNames } from './erase-requests.ts'
import { beginErasure, type ErasureCounts, finishErasures } from './erasure-record.ts'
import { findMention, isUnreadable } from './find-mention.ts'

const WHAT_STAYS = `What stays: rows, event ids, the locator itself, opt-outs and the fact of the erasure, so that nothing is sent again; texts
of other members that mention the party; names of operators; rule tables and texts; what is compressed, encrypted or in base64;
backups; messages in the broker.`

export const eraseCommand = (world: World) =>
  withWriteOptions(
    newCommand('erase', {
      notes: `Every failed row becomes SKIPPED, given up or not. Requests that name the party or its entries stay with their counts;
an open one whose filter names them is cancelled. Events that arrive later are new: run the command again. It can be interrupted and
run again. ${WHAT_STAYS} DATABASE_URL names the database.`,
      exitCodes: '0 done, 1 failed',
      example: 'erase --party PTY-000042 --dry-run',
    }),
  )
    .description(
      'erase the personal data of a party: texts, inserted values, contacts, rejected messages, requests',
    )
    .addOption(partyOption('locator of the party').makeOptionMandatory())
    .option(
      '--message <id...>',
      'also erase rejected messages that have the locator only in a longer name: look at them first',
      addId,
    )
    .option('--dry-run', 'write nothing; show what would be erased')
    .option('--json', 'print the result as one JSON object')
    .action((options: Options) => erase(world, options))

/** Ids in the text of a result. */
const SHOWN_COUNT_MAX = 20

/** Two halves of the log are compared with the decisions at once. */
const CONNECTION_COUNT = 2

interface Options extends WriteOptions {
  readonly party: string
  readonly message?: readonly string[]
}

interface Found extends ErasureCounts {
  /** Rejected messages without a readable envelope. */
  readonly searchedAsBytes: number
  /** Rejected messages that mention the party only within a longer name, by id, and are not erased. */
  readonly longerNames: readonly string[]
  /** Ids of `--message` that are of no message with the locator. */
  readonly notFound: readonly string[]
  readonly requests: number
  readonly checkpointChanges: number
}

async function erase(world: World, { party, message = [], dryRun, yes, by, json }: Options): Promise<void> {
  const envelopeMaps = loadEnvelopeMaps(await readText(ENVELOPE_MAP))
  await withDatabase(
    world,
    async (pool) => {
      const search = { pool, party, messages: new Set(message), envelopeMaps }
      // Without a question there is no need to search twice.
      const found = yes && !dryRun ? null : await run(world, search, null)
      const isWanted = async (counts: Found) =>
        !dryRun &&
        (isNothing(counts) ||
          (await confirm(world, `Permanently erase ${describeFound(counts)} of ${party}?`, { yes })))
      // Recorded also if there is nothing: a message that is read again later may name the party.
      const isDone = found === null || (await isWanted(found))
      const counts = found === null || isDone ? await eraseAll(world, search, by) : found
      if (json) await print(world, JSON.stringify({ party, erased: isDone, ...counts }))
      else await print(world, ...describeErasure(party, counts, isDone ? 'Erased' : wouldDo(dryRun, 'erase')))
    },
    CONNECTION_COUNT,
  )
}

function isNothing({
  logEntries,
  preferences,
  preferenceChanges,
  rejectedMessages,
  requests,
  checkpointChanges,
}: Found): boolean {
  return logEntries + preferences + preferenceChanges + rejectedMessages + requests + checkpointChanges === 0
}

interface Search {
  readonly pool: DatabasePool
  readonly party: string
  /** Rejected messages that are erased even if they mention the party only within a longer name. */
  readonly messages: ReadonlySet<string>
  readonly envelopeMaps: EnvelopeMaps
}

async function eraseAll(world: World, search: Search, by: string): Promise<Found> {
  const erasure = await beginErasure(search.pool, search.party, by)
  const counts = await run(world, search, erasure)
  await finishErasures(search.pool, search.party)
  return counts
}

type OnRequests = (naming: Naming) => Promise<void>

/** Goes through all stored data of a party, and blanks it in small transactions. Without an erasure it only counts. */
async function run(world: World, search: Search, erasure: bigint | null): Promise<Found> {
  const { pool, party } = search
  const requestIds = new Set<bigint>()
  // Before what leads to them is erased: an interrupted erasure finds them again.
  const onRequests: OnRequests = async (naming) => {
    const ids = await findRequests(pool, naming)
    if (erasure !== null && ids.length > 0) {
      await eraseCopiedReasons(pool, ids)
      await eraseRequests(pool, naming, ids)
    }
    for (const id of ids) requestIds.add(id)
  }
  await onRequests({ names: [party], word: party })
  const checkpointChanges = await countCheckpointReasons(pool, party)
  if (erasure !== null) await eraseCheckpointReasons(pool, party)
  const preferences =
    erasure === null
      ? await countPreferencesToErase(pool, party)
      : await erasePreferences(pool, erasure, party)
  // Before the log entries: this waits for running redrives, whose rows are then found below.
  const messages = await runMessages(world, search, erasure, onRequests)
  const entries = await runEntries(world, search, erasure, onRequests)
  return { ...entries, ...messages, ...preferences, checkpointChanges, requests: requestIds.size }
}

async function runMessages(
  world: World,
  { pool, party, messages, envelopeMaps }: Search,
  erasure: bigint | null,
  onRequests: OnRequests,
) {
  const sum = { rejectedMessages: 0, searchedAsBytes: 0 }
  const longerNames: string[] = []
  const notFound = new Set(messages)
  // Erased ones too: a later dismissal of theirs may name the party.
  for await (const page of readRejected(pool, ALL_REJECTED)) {
    const ids: bigint[] = []
    for (const { id, topic, message } of page) {
      const map = mapOf(envelopeMaps, topic)
      const mention = findMention(message, party, map)
      if (mention !== null) notFound.delete(String(id))
      if (mention === 'named' || (mention === 'longer' && messages.has(String(id)))) ids.push(id)
      else if (mention === 'longer') longerNames.push(String(id))
      if (isUnreadable(message.value, map)) sum.searchedAsBytes++
    }
    if (ids.length > 0) await onRequests({ ids })
    sum.rejectedMessages += erasure === null ? ids.length : await eraseRejected(pool, erasure, ids)
    if (erasure !== null)
      await eraseErrors(
        pool,
        party,
        page.map(({ id }) => id),
      )
    showProgress(world, `${sum.rejectedMessages} rejected messages`)
  }
  return { ...sum, longerNames, notFound: [...notFound] }
}

async function runEntries(
  world: World,
  { pool, party }: Search,
  erasure: bigint | null,
  onRequests: OnRequests,
) {
  const sum = { logEntries: 0, retries: 0 }
  const onDecisions = (decisions: number) =>
    showProgress(world, `${decisions} decisions compared with the log`)
  for await (const { locators, retries } of entriesToErase(pool, party, onDecisions)) {
    await onRequests({ names: await readNames(pool, locators) })
    const counts =
      erasure === null
        ? { logEntries: locators.length, retries }
        : await eraseEntries(pool, erasure, locators)
    sum.logEntries += counts.logEntries
    sum.retries += counts.retries
    showProgress(world, `${sum.logEntries} log entries`)
  }
  return sum
}

function describeFound({
  logEntries,
  retries,
  preferences,
  preferenceChanges,
  rejectedMessages,
  requests,
  checkpointChanges,
}: Found): string {
  return [
    `${counted(logEntries, 'log entry', 'log entries')} (${retries} of them failed and will not be retried)`,
    counted(requests, 'request'),
    ...(checkpointChanges === 0 ? [] : [`the reason of ${counted(checkpointChanges, 'changed checkpoint')}`]),
    `contacts in ${counted(preferences, 'set', 'sets')} of preferences and ${counted(preferenceChanges, 'preference change')}`,
    counted(rejectedMessages, 'rejected message'),
  ].join(', ')
}

function describeErasure(party: string, counts: Found, did: string): string[] {
  const first = isNothing(counts)
    ? `Nothing left to erase of ${party}`
    : `${did} ${describeFound(counts)} of ${party}`
  const lines = [first]
  if (counts.searchedAsBytes > 0)
    lines.push(
      `${counted(counts.searchedAsBytes, 'rejected message')} without a readable envelope: their bytes were searched for the locator ` +
        '(see `rejected list`, `rejected show`)',
    )
  const { longerNames, notFound } = counts
  if (notFound.length > 0)
    lines.push(
      `Not erased: ${notFound.join(' ')}, no rejected message with ${party} (see \`rejected list --all\`)`,
    )
  if (longerNames.length > 0) {
    const first = longerNames.slice(0, SHOWN_COUNT_MAX).join(' ')
    const more = longerNames.length > SHOWN_COUNT_MAX ? ' … (all with --json)' : ''
    lines.push(
      `${counted(longerNames.length, 'rejected message')} with ${party} only in a longer name, such as ${party}-2, or beside a letter or ` +
        `digit in bytes that are no text: not erased, since they may be another member's. Look with \`rejected show <id>\`, and name those ` +
        `of ${party} to \`erase --party ${party} --message <id…>\`: ${first}${more}`,
    )
  }
  return [...lines, WHAT_STAYS.replaceAll('\n', ' ')]
}

import type { DatabasePool } from '../../service/store/connection/pool.ts'
import { counted } from '../../service/text/count.ts'
import { confirm, type WriteOptions, withWriteOptions, wouldDo } from '../../terminal/confirm.ts'
import { newCommand, partyOption } from '../../terminal/options.ts'
import { print, showProgress } from '../../terminal/print.ts'
import { withDatabase } from '../../terminal/with-database.ts'
import type { World } from '../../terminal/world.ts'
import { eraseEntries } from './erase-entries.ts'
import { countPreferencesToErase, erasePreferences } from './erase-preferences.ts'
import { eraseCheckpointReasons } from './erase-reasons.ts'
import { eraseErrors, eraseRejected } from './erase-rejected-messages.ts'
import { eraseCopiedReasons, eraseRequests } from './erase-requests.ts'
import { beginErasure, type ErasureCounts, finishErasures } from './erasure-record.ts'
import { createSearch, type Search } from './find-mention.ts'
import { findPersonalData, listNames, type PersonalData } from './find-personal-data.ts'
import { readEnvelopeMaps } from './read-envelope-maps.ts'

const WHAT_STAYS = `What stays: rows, event ids, the locator itself, opt-outs and the fact of the erasure, so that nothing is sent again; what is
listed as not erased; texts of other members that mention the party; names of operators; rule tables and texts; a locator that is
compressed, encrypted, in base64 or another encoding, escaped in two ways at once, or whose quotes are doubled as in CSV; backups;
messages in the broker.`

export const eraseCommand = (world: World) =>
  withWriteOptions(
    newCommand('erase', {
      notes: `Every failed row becomes SKIPPED, given up or not. Requests that name the party or its entries stay with their counts;
an open one whose filter names them is cancelled. Events that arrive later are new: run the command again. It can be interrupted and
run again. ${WHAT_STAYS} DATABASE_URL names the database.`,
      exitCodes: '0 done, 1 declined or failed',
      example: 'erase --party PTY-000042 --dry-run',
    }),
  )
    .description(
      'erase the personal data of a party: texts, inserted values, contacts, rejected messages, requests',
    )
    .addOption(partyOption('locator of the party').makeOptionMandatory())
    .option('--message <id...>', 'also erase what the result lists as unclear: look at it first')
    .option('--dry-run', 'write nothing; show what would be erased')
    .option('--json', 'print the result as one JSON object')
    .action((options: Options) => erase(world, options))

/** Maximum number of ids in the text of a result. */
const SHOWN_COUNT_MAX = 20

/** Two halves of the log are compared with the decisions at once. */
const CONNECTION_COUNT = 2

interface Options extends WriteOptions {
  readonly party: string
  readonly message?: readonly string[]
}

interface ErasureResult extends ErasureCounts {
  /** Rejected messages without a readable envelope. */
  readonly searchedAsBytes: number
  /** Items not erased because they may be another member's: rejected messages, log entries, requests and changed checkpoints. */
  readonly unclear: readonly string[]
  /** Names in `--message` without an item that contains the locator. */
  readonly notFound: readonly string[]
  readonly requests: number
  readonly checkpointChanges: number
  /** Number of other rejected messages with an erased reason. */
  readonly rejectionReasons: number
}

async function erase(world: World, { party, message = [], dryRun, yes, by, json }: Options): Promise<void> {
  await withDatabase(
    world,
    async (pool) => {
      const search = createSearch(party, await readEnvelopeMaps(pool), message)
      // Without a question, one search suffices.
      const found = yes && !dryRun ? null : await run(world, pool, search, null)
      const isWanted = async (counts: ErasureResult) =>
        !dryRun &&
        (isNothing(counts) ||
          (await confirm(world, `Permanently erase ${describeFound(counts)} of ${party}?`, { yes })))
      // Recorded even if nothing is found: a message that is read again later may name the party.
      const isDone = found === null || (await isWanted(found))
      const counts = found === null || isDone ? await eraseAll(world, pool, search, by) : found
      if (json) await print(world, JSON.stringify({ party, erased: isDone, ...counts }))
      else await print(world, ...describeErasure(party, counts, isDone ? 'Erased' : wouldDo(dryRun, 'erase')))
    },
    CONNECTION_COUNT,
  )
}

function isNothing({ searchedAsBytes, unclear, notFound, ...counts }: ErasureResult): boolean {
  return Object.values(counts).every((count) => count === 0)
}

async function eraseAll(
  world: World,
  pool: DatabasePool,
  search: Search,
  by: string,
): Promise<ErasureResult> {
  const erasure = await beginErasure(pool, search.party, by)
  const counts = await run(world, pool, search, erasure)
  await eraseCopiedReasons(pool)
  await finishErasures(pool, search.party)
  return counts
}

/** Blanks all stored data of a party in small transactions. Without an erasure it only counts. */
async function run(
  world: World,
  pool: DatabasePool,
  search: Search,
  erasure: bigint | null,
): Promise<ErasureResult> {
  const { party } = search
  const sum = { logEntries: 0, retries: 0, preferences: 0, preferenceChanges: 0, rejectedMessages: 0 }
  let [searchedAsBytes, rejectionReasons] = [0, 0]
  const [requests, checkpointChanges, notFound] = [
    new Set<bigint>(),
    new Set<bigint>(),
    new Set(search.wanted),
  ]
  const unclear: string[] = []
  const add = (counts: Partial<ErasureCounts>) => {
    for (const name of COUNTS) sum[name] += counts[name] ?? 0
  }
  const onDecisions = (decisions: number) =>
    showProgress(world, `${decisions} decisions compared with the log`)
  for await (const data of findPersonalData(pool, search, onDecisions)) {
    for (const name of listNames(data)) notFound.delete(name)
    add(erasure === null ? await countData(pool, party, data) : await eraseData(pool, party, erasure, data))
    if (data.kind === 'requests') for (const id of data.ids) requests.add(id)
    if (data.kind === 'checkpointChanges') for (const id of data.ids) checkpointChanges.add(id)
    if (data.kind === 'unclear') unclear.push(...data.names)
    if (data.kind === 'rejectedMessages') {
      searchedAsBytes += data.searchedAsBytes
      rejectionReasons += data.reasons.length
      showProgress(world, `${sum.rejectedMessages} rejected messages`)
    }
    if (data.kind === 'logEntries') showProgress(world, `${sum.logEntries} log entries`)
  }
  return {
    ...sum,
    searchedAsBytes,
    unclear,
    notFound: [...notFound],
    requests: requests.size,
    checkpointChanges: checkpointChanges.size,
    rejectionReasons,
  }
}

const COUNTS = ['logEntries', 'retries', 'preferences', 'preferenceChanges', 'rejectedMessages'] as const

async function countData(
  pool: DatabasePool,
  party: string,
  data: PersonalData,
): Promise<Partial<ErasureCounts>> {
  switch (data.kind) {
    case 'preferences':
      return countPreferencesToErase(pool, party)
    case 'rejectedMessages':
      return { rejectedMessages: data.named.length }
    case 'logEntries':
      return { logEntries: data.locators.length, retries: data.retries }
    default:
      return {}
  }
}

async function eraseData(
  pool: DatabasePool,
  party: string,
  erasure: bigint,
  data: PersonalData,
): Promise<Partial<ErasureCounts>> {
  switch (data.kind) {
    case 'requests':
      if (data.ids.length > 0) await eraseRequests(pool, data.naming, data.ids)
      return {}
    case 'checkpointChanges':
      if (data.ids.length > 0) await eraseCheckpointReasons(pool, data.ids)
      return {}
    case 'preferences':
      return erasePreferences(pool, erasure, party)
    case 'rejectedMessages': {
      const { named, reasons } = data
      const ids = named.map(({ id }) => id)
      const rejectedMessages = await eraseRejected(pool, erasure, ids)
      await eraseErrors(pool, ids)
      await eraseErrors(
        pool,
        reasons.map(({ id }) => id),
        reasons.flatMap(({ texts }) => texts),
      )
      return { rejectedMessages }
    }
    case 'logEntries':
      return data.locators.length === 0 ? {} : eraseEntries(pool, erasure, data.locators)
    case 'unclear':
      return {}
  }
}

function describeFound({
  logEntries,
  retries,
  preferences,
  preferenceChanges,
  rejectedMessages,
  requests,
  checkpointChanges,
  rejectionReasons,
}: ErasureResult): string {
  return [
    `${counted(logEntries, 'log entry', 'log entries')} (${retries} of them failed and will not be retried)`,
    counted(requests, 'request'),
    ...(checkpointChanges === 0 ? [] : [`the reason of ${counted(checkpointChanges, 'changed checkpoint')}`]),
    `contacts in ${counted(preferences, 'set', 'sets')} of preferences and ${counted(preferenceChanges, 'preference change')}`,
    counted(rejectedMessages, 'rejected message'),
    ...(rejectionReasons === 0
      ? []
      : [`reasons noted for ${counted(rejectionReasons, 'other rejected message')}`]),
  ].join(', ')
}

function describeErasure(party: string, counts: ErasureResult, did: string): string[] {
  const first = isNothing(counts)
    ? `Nothing left to erase of ${party}`
    : `${did} ${describeFound(counts)} of ${party}`
  const lines = [first]
  if (counts.searchedAsBytes > 0)
    lines.push(
      `${counted(counts.searchedAsBytes, 'rejected message')} without a readable envelope: their bytes were searched for the locator ` +
        '(see `rejected list`, `rejected show`)',
    )
  const { unclear, notFound } = counts
  if (notFound.length > 0)
    lines.push(
      `Not erased: ${notFound.join(' ')}, nothing with that name contains ${party} (see \`rejected list --all\`)`,
    )
  if (unclear.length > 0) {
    const first = unclear.slice(0, SHOWN_COUNT_MAX).join(' ')
    const more = unclear.length > SHOWN_COUNT_MAX ? ' … (all with --json)' : ''
    lines.push(
      `Not erased: ${counted(unclear.length, 'place')} with ${party} in a text, in a longer name such as ${party}-2, or in a message ` +
        `that may be another member's, too: ${first}${more}. Look with \`rejected show\`, \`why\` or \`requests show\` (checkpoint: the table checkpoint_change), and ` +
        `name those of ${party} to \`erase --party ${party} --message <id…>\``,
    )
  }
  return [...lines, WHAT_STAYS.replaceAll('\n', ' ')]
}

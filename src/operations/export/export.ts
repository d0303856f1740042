import { ENVELOPE_MAP, readText } from '../../service/app/rule-files.ts'
import { loadRetryLimits } from '../../service/config/config.ts'
import { loadEnvelopeMaps, mapOf } from '../../service/decide/event/envelope-map.ts'
import type { PreferenceChange } from '../../service/decide/party/preferences.ts'
import type { ListPage, LogPosition } from '../../service/model/log/log-page.ts'
import type { DatabasePool } from '../../service/store/connection/pool.ts'
import { getLogEntry, readVariables } from '../../service/store/read/get-log-entry.ts'
import { listLogEntries } from '../../service/store/read/list-log-entries.ts'
import { ALL_REJECTED, readRejected } from '../../service/store/read/list-rejected-messages.ts'
import { getPreferences, listPreferenceChanges } from '../../service/store/read/read-preferences.ts'
import { counted } from '../../service/text/count.ts'
import { newCommand, partyOption } from '../../terminal/options.ts'
import { note, print } from '../../terminal/print.ts'
import { withDatabase } from '../../terminal/with-database.ts'
import type { World } from '../../terminal/world.ts'
import { entriesOfNobody } from '../erase/erase-entries.ts'
import { findMention, isUnreadable } from '../erase/find-mention.ts'
import { showWhole } from '../rejected/describe-rejected.ts'

export const exportCommand = (world: World) =>
  newCommand('export', {
    notes: `One JSON object per line, each with its kind: preferences, preferenceChange, logEntry (with its decisions), rejectedMessage (bytes in
base64, and as text where they are text). It finds rejected messages, and log entries without a party that name
this one, as \`erase\` does. DATABASE_URL names the database.`,
    exitCodes: '0 printed, 1 failed',
    example: 'export --party PTY-000042 > PTY-000042.jsonl',
  })
    .description('print all data stored about a party, for a request for access to personal data')
    .addOption(partyOption('locator of the party').makeOptionMandatory())
    .action((options: { readonly party: string }) => exportParty(world, options))

const PAGE_COUNT = 200

async function exportParty(world: World, { party }: { readonly party: string }): Promise<void> {
  await withDatabase(world, async (pool) => {
    const preferences = await getPreferences(pool, party)
    if (preferences !== null) await printOne(world, 'preferences', preferences)
    await printChanges(world, pool, party)
    await printEntries(world, pool, party)
    await printRejected(world, pool, party)
  })
}

function printOne(world: World, kind: string, data: object): Promise<void> {
  return print(world, JSON.stringify({ kind, ...data }))
}

async function printChanges(world: World, pool: DatabasePool, party: string): Promise<void> {
  let after: bigint | null = null
  do {
    const page: ListPage<PreferenceChange, bigint> = await listPreferenceChanges(pool, party, {
      limit: PAGE_COUNT,
      after,
    })
    for (const change of page.items) await printOne(world, 'preferenceChange', change)
    after = page.next
  } while (after !== null)
}

async function printEntries(world: World, pool: DatabasePool, partyLocator: string): Promise<void> {
  const limits = loadRetryLimits(world.env)
  let after: LogPosition | null = null
  do {
    const page = await listLogEntries(pool, limits, { partyLocator }, { limit: PAGE_COUNT, after })
    for (const { locator } of page.items) await printEntry(world, pool, locator)
    after = page.next
  } while (after !== null)
  for await (const { locators } of entriesOfNobody(pool, partyLocator))
    for (const locator of locators) await printEntry(world, pool, locator)
}

async function printEntry(world: World, pool: DatabasePool, locator: string): Promise<void> {
  const entry = await getLogEntry(pool, loadRetryLimits(world.env), locator)
  if (entry !== null)
    await printOne(world, 'logEntry', { ...entry, variables: await readVariables(pool, locator) })
}

async function printRejected(world: World, pool: DatabasePool, party: string): Promise<void> {
  const envelopeMaps = loadEnvelopeMaps(await readText(ENVELOPE_MAP))
  let searchedAsBytes = 0
  let longerNames = 0
  for await (const page of readRejected(pool, { ...ALL_REJECTED, kept: true })) {
    for (const rejected of page) {
      const { topic, message } = rejected
      const envelopeMap = mapOf(envelopeMaps, topic)
      if (isUnreadable(message.value, envelopeMap)) searchedAsBytes++
      const mention = findMention(message, party, envelopeMap)
      if (mention === 'longer') longerNames++
      if (mention === 'named') await printOne(world, 'rejectedMessage', showWhole(rejected))
    }
  }
  if (searchedAsBytes > 0)
    note(
      world,
      `${counted(searchedAsBytes, 'rejected message')} without a readable envelope: only searched for the locator as text`,
    )
  if (longerNames > 0)
    note(
      world,
      `${counted(longerNames, 'rejected message')} with the locator only in a longer name: not printed. \`erase --dry-run\` names them`,
    )
}

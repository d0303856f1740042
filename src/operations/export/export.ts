import { loadRetryLimits } from '../../service/config/config.ts'
import type { PreferenceChange } from '../../service/decide/party/preferences.ts'
import type { ListPage } from '../../service/model/log/log-page.ts'
import type { DatabasePool } from '../../service/store/connection/pool.ts'
import { getLogEntry, readVariables } from '../../service/store/read/get-log-entry.ts'
import { getPreferences, listPreferenceChanges } from '../../service/store/read/read-preferences.ts'
import { counted } from '../../service/text/count.ts'
import { newCommand, partyOption } from '../../terminal/options.ts'
import { note, print } from '../../terminal/print.ts'
import { withDatabase } from '../../terminal/with-database.ts'
import type { World } from '../../terminal/world.ts'
import { createSearch } from '../erase/find-mention.ts'
import { findPersonalData } from '../erase/find-personal-data.ts'
import { readEnvelopeMaps } from '../erase/read-envelope-maps.ts'
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
/** Two halves of the log are compared with the decisions at once. */
const CONNECTION_COUNT = 2

async function exportParty(world: World, { party }: { readonly party: string }): Promise<void> {
  await withDatabase(
    world,
    async (pool) => {
      const search = {
        party,
        wanted: new Set<string>(),
        ...createSearch(party, await readEnvelopeMaps(pool)),
      }
      let searchedAsBytes = 0
      const unclear: string[] = []
      for await (const data of findPersonalData(pool, search, () => {})) {
        if (data.kind === 'preferences') await printPreferences(world, pool, party)
        if (data.kind === 'logEntries')
          for (const locator of [...data.locators, ...data.blank]) await printEntry(world, pool, locator)
        if (data.kind === 'rejectedMessages') {
          searchedAsBytes += data.searchedAsBytes
          for (const rejected of data.named) await printOne(world, 'rejectedMessage', showWhole(rejected))
        }
        if (data.kind === 'unclear') unclear.push(...data.names)
      }
      notePlaces(world, searchedAsBytes, unclear)
    },
    CONNECTION_COUNT,
  )
}

function printOne(world: World, kind: string, data: object): Promise<void> {
  return print(world, JSON.stringify({ kind, ...data }))
}

async function printPreferences(world: World, pool: DatabasePool, party: string): Promise<void> {
  const preferences = await getPreferences(pool, party)
  if (preferences !== null) await printOne(world, 'preferences', preferences)
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

async function printEntry(world: World, pool: DatabasePool, locator: string): Promise<void> {
  const entry = await getLogEntry(pool, loadRetryLimits(world.env), locator)
  if (entry !== null)
    await printOne(world, 'logEntry', { ...entry, variables: await readVariables(pool, locator) })
}

function notePlaces(world: World, searchedAsBytes: number, unclear: readonly string[]): void {
  if (searchedAsBytes > 0)
    note(
      world,
      `${counted(searchedAsBytes, 'rejected message')} without a readable envelope: only searched for the locator as text`,
    )
  if (unclear.length > 0) note(world, `Not printed, since they may be another member's: ${unclear.join(' ')}`)
}

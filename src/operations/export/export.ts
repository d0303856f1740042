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
import { findPersonalData, type PersonalData } from '../erase/find-personal-data.ts'
import { readEnvelopeMaps } from '../erase/read-envelope-maps.ts'
import { showWhole } from '../rejected/describe-rejected.ts'
import { readChangesForOthers, readCheckpointChanges, readDecisions, readRequests } from './read-exported.ts'

export const exportCommand = (world: World) =>
  newCommand('export', {
    notes: `One JSON object per line, each with its kind: preferences, preferenceChange, changeForAnother, logEntry (with its decisions),
decision (without a row), rejectedMessage (bytes in base64, and as text where they are text), rejectionReason, request, checkpointChange.
It finds what \`erase\` erases, and names what may be another member's. DATABASE_URL names the database.`,
    exitCodes: '0 printed, 1 failed',
    example: 'export --party PTY-000042 > PTY-000042.jsonl',
  })
    .description('print all data stored about a party, for a request for access to personal data')
    .addOption(partyOption('locator of the party').makeOptionMandatory())
    .option('--message <id...>', 'also print what an earlier result lists as not printed: look at it first')
    .action((options: Options) => exportParty(world, options))

interface Options {
  readonly party: string
  readonly message?: readonly string[]
}

const PAGE_COUNT = 200
/** Two halves of the log are compared with the decisions at once. */
const CONNECTION_COUNT = 2

async function exportParty(world: World, { party, message = [] }: Options): Promise<void> {
  await withDatabase(
    world,
    async (pool) => {
      const search = createSearch(party, await readEnvelopeMaps(pool), message)
      const printed = new Set<string>()
      let searchedAsBytes = 0
      const unclear: string[] = []
      for await (const data of findPersonalData(pool, search, () => {})) {
        await printData(world, pool, party, data, printed)
        if (data.kind === 'rejectedMessages') searchedAsBytes += data.searchedAsBytes
        if (data.kind === 'unclear') unclear.push(...data.names)
      }
      notePlaces(world, party, searchedAsBytes, unclear)
    },
    CONNECTION_COUNT,
  )
}

/** Several entries may lead to one request, which is printed once. */
async function printData(
  world: World,
  pool: DatabasePool,
  party: string,
  data: PersonalData,
  printed: Set<string>,
): Promise<void> {
  const printAll = async (kind: string, rows: readonly object[]) => {
    for (const row of rows) await printOne(world, kind, row)
  }
  const isNew = (kind: string) => (id: bigint) =>
    !printed.has(`${kind}:${id}`) && printed.add(`${kind}:${id}`)
  switch (data.kind) {
    case 'preferences':
      await printPreferences(world, pool, party)
      return printAll('changeForAnother', await readChangesForOthers(pool, party))
    case 'requests':
      return printAll('request', await readRequests(pool, data.ids.filter(isNew('request'))))
    case 'checkpointChanges':
      return printAll(
        'checkpointChange',
        await readCheckpointChanges(pool, data.ids.filter(isNew('checkpoint'))),
      )
    case 'rejectedMessages':
      await printAll('rejectedMessage', data.named.map(showWhole))
      return printAll(
        'rejectionReason',
        data.reasons.map(({ id, texts }) => ({ id: String(id), reasons: texts })),
      )
    case 'logEntries':
      for (const locator of [...data.locators, ...data.blank]) await printEntry(world, pool, locator)
      return
    case 'unclear':
      return
  }
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
  else for (const decision of await readDecisions(pool, locator)) await printOne(world, 'decision', decision)
}

function notePlaces(world: World, party: string, searchedAsBytes: number, unclear: readonly string[]): void {
  if (searchedAsBytes > 0)
    note(
      world,
      `${counted(searchedAsBytes, 'rejected message')} without a readable envelope: only searched for the locator as text`,
    )
  if (unclear.length > 0)
    note(
      world,
      `Not printed, since they may be another member's: ${unclear.join(' ')}. Look at them, and name those of ${party} to --message`,
    )
}

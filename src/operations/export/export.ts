import { ENVELOPE_MAP, readText } from '../../service/app/rule-files.ts'
import { loadRetryLimits } from '../../service/config/config.ts'
import { loadEnvelopeMaps, mapOf } from '../../service/decide/event/envelope-map.ts'
import type { LogPosition } from '../../service/model/log/log-page.ts'
import type { DatabasePool } from '../../service/store/connection/pool.ts'
import { getLogEntry, readVariables } from '../../service/store/read/get-log-entry.ts'
import { listLogEntries } from '../../service/store/read/list-log-entries.ts'
import { ALL_REJECTED, readRejected } from '../../service/store/read/list-rejected-messages.ts'
import { getPreferences, listPreferenceChanges } from '../../service/store/read/read-preferences.ts'
import { counted } from '../../service/text/count.ts'
import { newCommand, partyOption } from '../../terminal/options.ts'
import { note, print } from '../../terminal/print.ts'
import { withDatabase } from '../../terminal/with-database.ts'
import { findMention, isUnreadable } from '../erase/find-mention.ts'
import { showWhole } from '../rejected/describe-rejected.ts'

export const exportCommand = newCommand('export', {
  notes: `One JSON object per line, each with its kind: preferences, preferenceChange, logEntry (with its decisions), rejectedMessage (bytes in
base64, and as text where they are text). It finds rejected messages as \`erase\` does. DATABASE_URL names the database.`,
  exitCodes: '0 printed, 1 failed',
  example: 'export --party PTY-000042 > PTY-000042.jsonl',
})
  .description('print all data stored about a party, for a request for access to personal data')
  .addOption(partyOption('locator of the party').makeOptionMandatory())
  .action(exportParty)

const PAGE_COUNT = 200

async function exportParty({ party }: { readonly party: string }): Promise<void> {
  await withDatabase(async (pool) => {
    const preferences = await getPreferences(pool, party)
    if (preferences !== null) await printOne('preferences', preferences)
    await printChanges(pool, party)
    await printEntries(pool, party)
    await printRejected(pool, party)
  })
}

function printOne(kind: string, data: object): Promise<void> {
  return print(JSON.stringify({ kind, ...data }))
}

async function printChanges(pool: DatabasePool, party: string): Promise<void> {
  for (let printedCount = 0; ; ) {
    const { changes, isMore } = await listPreferenceChanges(pool, party, PAGE_COUNT, printedCount)
    for (const change of changes) await printOne('preferenceChange', change)
    printedCount += changes.length
    if (!isMore) return
  }
}

async function printEntries(pool: DatabasePool, partyLocator: string): Promise<void> {
  const limits = loadRetryLimits(process.env)
  let after: LogPosition | null = null
  do {
    const page = await listLogEntries(pool, limits, { partyLocator }, { limit: PAGE_COUNT, after })
    for (const { locator } of page.items) {
      const entry = await getLogEntry(pool, limits, locator)
      if (entry !== null)
        await printOne('logEntry', { ...entry, variables: await readVariables(pool, locator) })
    }
    after = page.next
  } while (after !== null)
}

async function printRejected(pool: DatabasePool, party: string): Promise<void> {
  const envelopeMaps = loadEnvelopeMaps(await readText(ENVELOPE_MAP))
  let searchedAsBytes = 0
  for await (const page of readRejected(pool, { ...ALL_REJECTED, kept: true })) {
    for (const rejected of page) {
      const { topic, message } = rejected
      const envelopeMap = mapOf(envelopeMaps, topic)
      if (isUnreadable(message.value, envelopeMap)) searchedAsBytes++
      if (findMention(message, party, envelopeMap) !== null)
        await printOne('rejectedMessage', showWhole(rejected))
    }
  }
  if (searchedAsBytes > 0)
    note(
      `${counted(searchedAsBytes, 'rejected message')} without a readable envelope: only searched for the locator as text`,
    )
}

import { Command, InvalidArgumentError } from 'commander'
import { ENVELOPE_MAP, readText } from '../app/policy.ts'
import { loadDatabaseUrl } from '../config/config.ts'
import { loadEnvelopeMap } from '../core/event/envelope-map.ts'
import { isPartyLocator } from '../core/event/parse-event.ts'
import { findMention, isUnreadable } from '../core/event/party-mention.ts'
import type { ErasureCounts } from '../core/log/erasure.ts'
import type { DatabasePool } from '../postgres/connection/pool.ts'
import { withDatabase } from '../postgres/connection/with-database.ts'
import { entriesToErase, eraseEntries } from '../postgres/retention/erase-entries.ts'
import { countPreferencesToErase, erasePreferences } from '../postgres/retention/erase-preferences.ts'
import { eraseRejected, rejectedToSearch } from '../postgres/retention/erase-rejected-messages.ts'
import { beginErasure, finishErasure } from '../postgres/retention/erasure-record.ts'
import { accountName } from './terminal/account-name.ts'
import { confirm } from './terminal/confirm.ts'
import { createProgress, type Progress } from './terminal/progress.ts'

export const eraseCommand = new Command('erase')
  .description(
    'blank what is stored of a person: texts, what was inserted in them, contacts, rejected messages',
  )
  .requiredOption('--party <locator>', 'whose', parseParty)
  .option('--dry-run', 'write nothing, only say what would be blanked')
  .option('--yes', 'do not ask first')
  .option('--by <name>', 'who is recorded to have done it; unset, the name of the account')
  .option('--json', 'what was blanked as one JSON object')
  .addHelpText(
    'after',
    `
The rows, their event ids and the fact of the erasure stay, so that nothing is sent again; opt-outs stay in force. A
failed row that waits for a retry becomes SKIPPED. What comes in later is new: run it again. Interrupted, it can be run
again. Backups, and the messages that the broker still has, are not touched. DATABASE_URL says which database.
Exit codes: 0 all is blank (or was), 1 it could not be done, 2 wrong usage.

Example:
  $ notifications-service erase --party PTY-000042 --dry-run`,
  )
  .action(erase)

interface Options {
  readonly party: string
  readonly dryRun?: true
  readonly yes?: true
  readonly by?: string
  readonly json?: true
}

interface Found extends ErasureCounts {
  /** Rejected messages without an envelope that can be read. */
  readonly searchedAsBytes: number
}

async function erase({ party, dryRun, yes, by, json }: Options): Promise<void> {
  const envelopeMap = loadEnvelopeMap(await readText(ENVELOPE_MAP))
  await withDatabase(loadDatabaseUrl(process.env), async (pool) => {
    const progress = createProgress(process.stderr)
    const search = { pool, party, envelopeMap, progress }
    const found = await run(search, null)
    progress.clear()
    const isNothing =
      found.logEntries + found.preferences + found.preferenceChanges + found.rejectedMessages === 0
    const isDone = !dryRun && !isNothing && (yes || (await confirm(questionOf(party, found))))
    const counts = isDone ? await eraseAll(search, by ?? accountName()) : found
    if (json) process.stdout.write(`${JSON.stringify({ party, erased: isDone, ...counts })}\n`)
    else for (const line of linesOf(party, counts, { isDone, isNothing })) process.stdout.write(`${line}\n`)
  })
}

interface Search {
  readonly pool: DatabasePool
  readonly party: string
  readonly envelopeMap: ReturnType<typeof loadEnvelopeMap>
  readonly progress: Progress
}

async function eraseAll(search: Search, by: string): Promise<Found> {
  const erasure = await beginErasure(search.pool, search.party, by)
  const counts = await run(search, erasure)
  await finishErasure(search.pool, erasure)
  search.progress.clear()
  return counts
}

/** Goes through all that is stored of a party. Blanks it, in small transactions; without an erasure it only counts. */
async function run({ pool, party, envelopeMap, progress }: Search, erasure: bigint | null): Promise<Found> {
  const sum = { logEntries: 0, retries: 0, rejectedMessages: 0, searchedAsBytes: 0 }
  const preferences =
    erasure === null
      ? await countPreferencesToErase(pool, party)
      : await erasePreferences(pool, erasure, party)
  const onDecisions = (decisions: number) => progress.show(`${decisions} decisions looked at`)
  for await (const { locators, retries } of entriesToErase(pool, party, onDecisions)) {
    const counts =
      erasure === null
        ? { logEntries: locators.length, retries }
        : await eraseEntries(pool, erasure, locators)
    sum.logEntries += counts.logEntries
    sum.retries += counts.retries
    progress.show(`${sum.logEntries} log entries`)
  }
  for await (const page of rejectedToSearch(pool)) {
    const ids = page
      .filter((message) => findMention(message, party, envelopeMap) !== null)
      .map(({ id }) => id)
    sum.rejectedMessages += erasure === null ? ids.length : await eraseRejected(pool, erasure, ids)
    sum.searchedAsBytes += page.filter(({ value }) => isUnreadable(value)).length
    progress.show(`${sum.rejectedMessages} rejected messages`)
  }
  return { ...sum, ...preferences }
}

function questionOf(party: string, found: Found): string {
  return `Blank of ${party}, for good: ${wordsOf(found)}?`
}

function wordsOf({ logEntries, retries, preferences, preferenceChanges, rejectedMessages }: Found): string {
  return [
    `${logEntries} log entries (${retries} that failed, and will not be retried)`,
    `the contact in ${preferences} preferences and ${preferenceChanges} changes of them`,
    `${rejectedMessages} rejected messages`,
  ].join(', ')
}

function linesOf(
  party: string,
  counts: Found,
  { isDone, isNothing }: { isDone: boolean; isNothing: boolean },
): string[] {
  const unread =
    counts.searchedAsBytes === 0
      ? []
      : [
          `${counts.searchedAsBytes} rejected messages have no envelope that can be read: the locator was looked for in their ` +
            'bytes, as UTF-8 and UTF-16; where it is compressed or encrypted it is not found (`rejected list`, `rejected show`)',
        ]
  if (isNothing) return [`nothing is stored of ${party} that is not erased`, ...unread]
  return [`${isDone ? 'blanked' : 'not done, would be blanked'} of ${party}: ${wordsOf(counts)}`, ...unread]
}

function parseParty(text: string): string {
  if (!isPartyLocator(text)) throw new InvalidArgumentError('No party can have this locator.')
  return text
}

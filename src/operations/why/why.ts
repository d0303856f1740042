import { loadArchivedRules } from '../../service/app/load-archived-rules.ts'
import { loadRetryLimits, loadTraceUrl } from '../../service/config/config.ts'
import { describeEntry, explain } from '../../service/decide/why/explain-decision.ts'
import { getLogEntry } from '../../service/store/read/get-log-entry.ts'
import { listLogEntries } from '../../service/store/read/list-log-entries.ts'
import { counted } from '../../service/text/count.ts'
import { printable } from '../../service/text/sanitize.ts'
import { newCommand } from '../../terminal/options.ts'
import { note, print } from '../../terminal/print.ts'
import { withDatabase } from '../../terminal/with-database.ts'
import type { World } from '../../terminal/world.ts'
import { findNamed } from '../log/known-names.ts'
import { formatEntry } from '../log/log.ts'
import { filterFor } from '../log/search-kinds.ts'

const LISTED_COUNT_MAX = 10

export const whyCommand = (world: World) =>
  newCommand('why', {
    notes: `An event has at most one log entry. It has none if it was not read yet, was rejected (see \`rejected list\`), or was pruned.
DATABASE_URL names the database. RETRY_MAX_AGE and RETRY_MAX_ATTEMPTS, set as for \`serve\`, define which rows are given up.
TRACE_URL, if set, turns each trace id into a link.`,
    exitCodes: '0 explained, 1 no such entry or failed',
    example: 'why NTF-0196f3a2-7c1e-7b3a-9d55-3f6f0c2b8a11',
  })
    .description('explain a log entry by the rules that were in force at its time')
    .argument(
      '<name>',
      'the locator of the log entry, NTF-…, the id of its event, or what the event is about',
    )
    .option('--json', 'as one JSON object, like that of GET /log/{locator}')
    .action((text: string, options: { readonly json?: true }) => why(world, text, options))

async function why(world: World, text: string, { json }: { readonly json?: true }): Promise<void> {
  await withDatabase(world, async (pool) => {
    const limits = loadRetryLimits(world.env)
    const found = await findNamed(world, pool, text)
    if (found === null) return
    const { items } = await listLogEntries(pool, limits, filterFor(found), {
      limit: LISTED_COUNT_MAX,
      after: null,
    })
    const [only, ...more] = items
    if (only === undefined || more.length > 0) {
      await print(world, ...items.map((entry) => (json ? JSON.stringify(entry) : formatEntry(entry))))
      const newest = items.length === LISTED_COUNT_MAX ? `; these are the newest ${LISTED_COUNT_MAX}` : ''
      note(
        world,
        `the ${found.kind} ${printable(found.value)} has ${counted(items.length, 'entry', 'entries')}${newest}. Give one locator, NTF-…`,
      )
      return
    }
    const entry = await getLogEntry(pool, limits, only.locator)
    if (entry === null) throw new Error('the entry was pruned meanwhile')
    const rules = await loadArchivedRules(pool, entry.decisions)
    const explained = explain(entry, rules, loadTraceUrl(world.env))
    await print(world, ...(json ? [JSON.stringify(explained)] : describeEntry(explained)))
  })
}

import { Command } from 'commander'
import { createRedriver, type Redriver } from '../../app/redriver.ts'
import { loadConfig } from '../../config/config.ts'
import type { Rejected } from '../../core/event/rejected-message.ts'
import { UNREDRIVABLE } from '../../core/event/rejection.ts'
import { counted } from '../../core/text/count.ts'
import type { DatabasePool } from '../../postgres/connection/pool.ts'
import { withDatabase } from '../../postgres/connection/with-database.ts'
import { createLog } from '../../telemetry/log.ts'
import { confirm, type WriteOptions, withWriteOptions } from '../terminal/confirm.ts'
import { helpEnd } from '../terminal/options.ts'
import { note, print } from '../terminal/print.ts'
import { describeOutcome, type RedriveOutcome } from './describe.ts'
import { choose, type FilterOptions, rejectedMessages, withChoice } from './filter.ts'

export const redriveCommand = withWriteOptions(withChoice(new Command('redrive')))
  .description(
    'send rejected messages through the pipeline again, once the cause of their rejection is fixed',
  )
  .option('--dry-run', 'write nothing; show what would happen')
  .option('--json', 'one JSON object per line')
  .addHelpText(
    'after',
    helpEnd(
      '0 every message was looked at, and its result printed, 1 a message given by its id could not be redriven',
      'rejected redrive --code refused-by-database --dry-run',
    ),
  )
  .action(redrive)

async function redrive(ids: readonly bigint[] = [], options: FilterOptions & WriteOptions): Promise<void> {
  const config = loadConfig(process.env)
  await withDatabase(config.database.url, async (pool) => {
    const redriver = await createRedriver(config, pool, createLog('warn', process.stderr))
    try {
      await redriveAll(redriver, pool, ids, options)
    } finally {
      await redriver.close()
    }
  })
}

async function redriveAll(
  redriver: Redriver,
  pool: DatabasePool,
  ids: readonly bigint[],
  options: FilterOptions & WriteOptions,
): Promise<void> {
  const { dryRun, by, json } = options
  // A message given by id is redriven again, whatever the last result; its event is still logged at most once.
  const { filter, count } = await choose(pool, ids, options)
  const question = `Redrive ${counted(count, 'message')}?`
  if (count > 0 && !dryRun && !(await confirm(question, options)))
    return note('Not confirmed: nothing was redriven')
  const counts = { logged: 0, duplicate: 0, rejected: 0, refused: 0 }
  for await (const rejected of rejectedMessages(pool, filter)) {
    const outcome =
      findRefusal(rejected) ??
      (dryRun
        ? expectedOutcome(await redriver.tryOut(rejected))
        : { ...((await redriver.redrive(rejected, by)) ?? GONE), note: '' })
    counts[outcome.result]++
    const { id } = rejected
    await print(json ? JSON.stringify({ id: String(id), ...outcome }) : `${id}  ${describeOutcome(outcome)}`)
  }
  const sum = `${counts.logged} logged, ${counts.duplicate} already logged, ${counts.rejected} still rejected, ${counts.refused} cannot be redriven`
  if (ids.length > 0 && counts.refused > 0) process.exitCode = 1
  note(dryRun ? `Dry run, nothing was written: ${sum}` : sum)
}

const GONE = { result: 'refused', error: 'it was erased or pruned meanwhile' } as const

/** The refusal of a message that cannot be redriven, or null. */
function findRefusal({ code, erasedAt }: Rejected): RedriveOutcome | null {
  const error = erasedAt === null ? UNREDRIVABLE[code] : `it was erased on ${erasedAt}`
  return error === undefined ? null : { result: 'refused', error, note: '' }
}

function expectedOutcome({
  attempts: [attempt],
  rejected: [rejected],
}: Awaited<ReturnType<Redriver['tryOut']>>): RedriveOutcome {
  if (rejected !== undefined) return { result: 'rejected', ...rejected.rejection, note: '' }
  if (attempt === undefined) return { result: 'duplicate', note: '' }
  const { outcome, channel } = attempt.decision
  return { result: 'logged', note: `event ${attempt.eventId}: ${outcome} by ${channel}` }
}

import { describeHold, type Hold } from '../../service/model/request/hold.ts'
import type { DatabasePool } from '../../service/store/connection/pool.ts'
import { readHolds } from '../../service/store/read/read-holds.ts'
import { awaitAttempts, resumeHolds } from '../../service/store/write/hold.ts'
import { addRequest } from '../../service/store/write/request-row.ts'
import { printable } from '../../service/text/sanitize.ts'
import { confirm, type WriteOptions, withWriteOptions } from '../../terminal/confirm.ts'
import { newCommand, notBlank } from '../../terminal/options.ts'
import { note, print } from '../../terminal/print.ts'
import { withDatabase } from '../../terminal/with-database.ts'
import { checkAsked } from '../requests/follow.ts'

interface HoldOptions extends WriteOptions {
  readonly topic?: readonly string[]
  readonly because?: string
  readonly show?: true
}

export const holdCommand = withWriteOptions(
  newCommand('hold', {
    notes: `No message is sent from the moment that the command ends until \`resume\`, not even after a restart. Events wait in the broker, which must
keep them that long; nothing is skipped or failed. Replicas of version 1.0.0 or earlier do not heed a hold: stop them.`,
    exitCodes: '0 in force, 1 failed; with --show: 0 shown',
    example: 'hold --topic claims --because "the text of claim.paid is wrong"',
  }),
)
  .description('hold all messages, of every event or of those of some topics: lose nothing, send nothing')
  .option('--topic <name...>', 'only events of these topics; by default of all', addTopic)
  .option('--because <text>', 'why; recorded, and shown wherever the service shows its state')
  .option('--show', 'show the holds in force, and change nothing')
  .option('--json', 'print the holds in force as JSON')
  .action(holdTopics)

function addTopic(topic: string, previous: readonly string[] = []): string[] {
  return [...previous, notBlank(topic)]
}

async function holdTopics(options: HoldOptions): Promise<void> {
  const { topic, because = '', by, show, json } = options
  if (!show) checkAsked(options, [])
  await withDatabase(async (pool) => {
    if (show) return showHolds(await readHolds(pool), json)
    const what = topic === undefined ? 'all messages' : `all messages about events of ${topic.join(', ')}`
    if (!(await confirm(`Hold ${what}?`, options))) return note('Not confirmed: nothing is held')
    const target = topic === undefined ? {} : { topics: topic }
    const id = await addRequest(pool, { kind: 'hold', target }, by, because)
    note(`request ${id}: held; waiting for the batches under way`)
    await awaitAttempts(pool)
    await showHolds(await readHolds(pool), json)
  })
}

async function showHolds(holds: readonly Hold[], json?: true): Promise<void> {
  if (json) return print(JSON.stringify(holds))
  if (holds.length === 0) note('no hold is in force')
  await print(...holds.map(describe))
}

/** Example: "request 12: all topics, held by alice since … because …". */
function describe(hold: Hold): string {
  return `request ${hold.id}: ${printable(`${hold.topics?.join(', ') ?? 'all topics'}, ${describeHold(hold)}`)}`
}

export const resumeCommand = withWriteOptions(
  newCommand('resume', {
    notes:
      'Running replicas go on within 5 seconds, with the events that wait, by the rules and texts that they have then.',
    exitCodes: '0 no hold is in force, 1 one still is',
    example: 'resume --because "the text is corrected"',
  }),
)
  .description('end all holds: the service sends what waited')
  .option('--because <text>', 'why; recorded')
  .option('--json', 'print the holds that are ended as JSON')
  .action((options: HoldOptions) => withDatabase((pool) => resume(pool, options)))

async function resume(pool: DatabasePool, options: HoldOptions): Promise<void> {
  const { because = '', by, json } = options
  const holds = await readHolds(pool)
  for (const hold of holds) note(describe(hold))
  if (holds.length > 0 && !(await confirm('Resume?', options))) {
    process.exitCode = 1
    return note('Not confirmed: the hold stays in force')
  }
  const ids = holds.map(({ id }) => id)
  const resumed = new Set(await resumeHolds(pool, ids, by, because))
  if (json) await print(JSON.stringify(holds.filter(({ id }) => resumed.has(id))))
  const [left] = await readHolds(pool)
  if (left === undefined) return note('no hold is in force')
  process.exitCode = 1
  note(`${describe(left)}: still in force, newer or of another version: see \`requests show ${left.id}\``)
}

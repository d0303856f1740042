import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import t from 'tap'

const LINE_COUNT = 20_000
/** Writes 20 MB before anybody can have read a line. */
const PROGRAM = `
  import { createLogOutput } from '${new URL('../../../src/service/telemetry/log-output.ts', import.meta.url)}'
  const { write, exit } = createLogOutput()
  for (let i = 0; i < ${LINE_COUNT}; i++) write('x'.repeat(999) + '\\n')
  await exit(0)
`

t.test('a log that is not read in time keeps 8 MB, and says how many lines are missing', async (t) => {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', PROGRAM], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const lines = (await text(child.stdout)).trimEnd().split('\n')
  const { droppedCount, ...last } = JSON.parse(lines.pop() ?? '')
  t.match(last, { level: 'warn', msg: /^log lines were dropped/ })
  t.equal(lines.length + droppedCount, LINE_COUNT)
  t.ok(lines.length > 4_000 && lines.length < 10_000, `${lines.length} lines`)
})

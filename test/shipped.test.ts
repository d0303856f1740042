// The rules and texts that authors change, which no other test sees: see test/README.md.
import { readFileSync } from 'node:fs'
import t from 'tap'
import { loadRuleTable } from '../src/service/decide/rules/load-table.ts'
import { listUnnamedChannels } from '../src/service/decide/rules/rule.ts'
import { spawned } from './process/command.ts'

const read = (file: string) => readFileSync(new URL(`../${file}`, import.meta.url), 'utf8')

t.test('rules/outcomes.txt has the outcomes and texts of today; make rules-accept writes them', async (t) => {
  const { stdout, stderr } = await spawned(['rules', 'outcomes'], { NODE_OPTIONS: '' })
  t.equal(stderr, '')
  t.equal(stdout, read('rules/outcomes.txt').replaceAll('\r\n', '\n'))
})

t.test('rules/dispatch.csv names every channel', async (t) => {
  t.strictSame(listUnnamedChannels(loadRuleTable(read('rules/dispatch.csv'))), [])
})

t.test('rules/dispatch.csv has each rule that an alert names', async (t) => {
  const alerts = read('src/service/telemetry/alerts.yaml')
  const named = [...alerts.matchAll(/\brule="([^"]+)"/g)].map(([, rule]) => rule)
  const known = loadRuleTable(read('rules/dispatch.csv')).map(({ id }) => id)
  t.not(named.length, 0)
  t.strictSame(
    named.filter((rule) => !known.includes(rule ?? '')),
    [],
  )
})

import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { parse, stringify } from 'yaml'

const DAY_MINUTES = 24 * 60

/** Look-ups a minute: through a day, and through the quarter of an hour after it. */
interface Traffic {
  readonly found: readonly [day: number, quarter: number]
  readonly notFound: readonly [day: number, quarter: number]
}

const CASES: [title: string, traffic: Traffic, fires: boolean][] = [
  ['a surge of parties that are not found', { found: [99, 50], notFound: [1, 50] }, true],
  ['as many as the day before', { found: [99, 99], notFound: [1, 1] }, false],
  ['three times as many, and still few', { found: [999, 996], notFound: [1, 4] }, false],
  ['a surge after a day without any', { found: [100, 50], notFound: [0, 50] }, true],
  ['a usual share of four in ten', { found: [60, 60], notFound: [40, 40] }, false],
  ['all of them, where four in ten are usual', { found: [60, 0], notFound: [40, 100] }, true],
  ['all of a handful', { found: [10, 0], notFound: [0, 1] }, false],
  ['most of them, on the first day', { found: [0, 20], notFound: [0, 80] }, true],
  ['a third of them, on the first day', { found: [0, 70], notFound: [0, 30] }, false],
]

function seriesOf(state: string, [day, quarter]: readonly [number, number]) {
  return {
    series: `notifications_contact_lookups_total{state="${state}",instance="a"}`,
    values: `0+${day}x${DAY_MINUTES} ${day * DAY_MINUTES + quarter}+${quarter}x14`,
  }
}

const installed = await promisify(execFile)('promtool', ['--version']).then(
  () => true,
  () => false,
)
const skip = installed ? false : 'promtool is not installed (Debian package prometheus)'

const { groups } = parse(await readFile(new URL('../../src/telemetry/alerts.yaml', import.meta.url), 'utf8'))

for (const [title, { found, notFound }, fires] of CASES) {
  t.test(`${title} ${fires ? 'is' : 'is not'} an alert`, { skip }, async (t) => {
    const series = [seriesOf('found', found), seriesOf('not found', notFound)]
    t.equal(await faultOf('NotificationsPartiesNotFound', series, fires), '')
  })
}

for (const [values, fires] of [
  ['0x1440 1x15', true],
  ['0x1455', false],
] as const) {
  t.test(
    `${fires ? 'one answer' : 'no answer'} for another party ${fires ? 'is' : 'is not'} an alert`,
    { skip },
    async (t) => {
      const series = [{ series: 'notifications_contact_lookups_total{state="wrong party"}', values }]
      t.equal(await faultOf('NotificationsWrongParty', series, fires), '')
    },
  )
}

for (const [title, noParty, others, fires] of [
  ['every tenth event without a party', 10, 90, false],
  ['every fifth', 20, 80, true],
  ['a handful of events, all without a party', 1, 0, false],
] as const) {
  t.test(`${title} ${fires ? 'is' : 'is not'} an alert`, { skip }, async (t) => {
    const series = [
      { series: 'notifications_outcomes_total{rule="no-party"}', values: `0+${noParty}x1455` },
      { series: 'notifications_outcomes_total{rule="email"}', values: `0+${others}x1455` },
    ]
    t.equal(await faultOf('NotificationsNoParty', series, fires), '')
  })
}

t.test('the alert about events without a party names their rule', async (t) => {
  const { expr } = groups[0].rules.find(({ alert }: { alert: string }) => alert === 'NotificationsNoParty')
  const table = await readFile(new URL('../../rules/dispatch.csv', import.meta.url), 'utf8')
  t.match(table, new RegExp(`^${/rule="([^"]+)"/.exec(expr)?.[1]},,missing,`, 'm'))
})

/** What promtool complains of where the alert fires, or not, other than was expected. */
async function faultOf(alert: string, series: readonly object[], fires: boolean): Promise<string> {
  const [rule] = groups[0].rules.filter((rule: { alert: string }) => rule.alert === alert)
  const test = {
    interval: '1m',
    input_series: series,
    promql_expr_test: [
      {
        expr: `count(${rule.expr}) or vector(0)`,
        eval_time: `${DAY_MINUTES + 15}m`,
        exp_samples: [{ labels: '{}', value: fires ? 1 : 0 }],
      },
    ],
  }
  const directory = await mkdtemp(join(tmpdir(), 'notifications-alerts-'))
  const file = join(directory, 'test.yaml')
  try {
    await writeFile(file, stringify({ tests: [test] }))
    await promisify(execFile)('promtool', ['test', 'rules', file])
    return ''
  } catch (error) {
    const { stdout, stderr } = error as { stdout?: string; stderr?: string }
    return `${stdout}${stderr}`
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

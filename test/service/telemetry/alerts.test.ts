import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { parse, stringify } from 'yaml'
import { RETRY_INTERVAL_MS } from '../../../src/service/decide/attempt/retry-pause.ts'
import { NO_PROMTOOL, promtool } from './promtool.ts'

const DAY_MINUTES = 24 * 60
/** Counts a minute: through a day, and through the quarter of an hour after it. */
type Counts = readonly [day: number, quarter: number]

function series(labels: string, [day, quarter]: Counts) {
  const values = `0+${day}x${DAY_MINUTES} ${day * DAY_MINUTES + quarter}+${quarter}x14`
  return { series: `notifications_${labels}`, values }
}
const lookUps = (found: Counts, notFound: Counts, topic = 'claims') => [
  series(`events_total{party="found",topic="${topic}"}`, found),
  series(`events_total{party="not found",topic="${topic}"}`, notFound),
]
const outcomes = (noParty: number, others: number) => [
  series('outcomes_total{rule="no-party"}', [noParty, noParty]),
  series('outcomes_total{rule="email"}', [others, others]),
]
const wrongParty = (values: string) => [
  { series: 'notifications_contact_lookups_total{state="wrong party"}', values },
]
const FOREIGN = 'NotificationsForeignDatabase'
const foreign = (values: string) => [
  { series: 'notifications_foreign_database{database="b",instance="a"}', values },
]
const MIXED = 'NotificationsMixedReplicas'
/** Replicas of a job, by their rule table. */
const builds = (byReplica: Readonly<Record<string, readonly [job: string, table: string, values: string]>>) =>
  Object.entries(byReplica).map(([instance, [job, table, values]]) => ({
    series: `notifications_build_info{job="${job}",instance="${instance}",version="1.0.0",rule_table_revision="${table}"}`,
    values,
  }))
const CLOCK = 'notifications_database_clock_ahead_seconds{instance="a"}'
const ROWS_LOST = 'NotificationsRowsLost'
const rowsLost = (values: string, startedAt: number) =>
  lost(values, startedAt).map(({ series, values }) => ({
    series: series.replace('lost_messages_total', 'rows_lost_total'),
    values,
  }))
/** The process started at this minute. */
const lost = (values: string, startedAt: number) => [
  { series: 'notifications_lost_messages_total{topic="claims",instance="a"}', values },
  { series: 'process_start_time_seconds{instance="a"}', values: `${startedAt * 60}x1455` },
]

/** The process started at this minute. */
const rejected = (code: string, values: string, startedAt = 0) => [
  { series: `notifications_rejected_messages_total{code="${code}",instance="a"}`, values },
  { series: 'process_start_time_seconds{instance="a"}', values: `${startedAt * 60}x1455` },
]
const CONFLICTS = 'NotificationsConflicts'
const NOT_FOUND = 'NotificationsPartiesNotFound'
const waiting = (rows: string, retries: string, down: string) => [
  { series: 'notifications_failed_rows{state="waiting"}', values: rows },
  { series: 'notifications_retries_total{status="FAILED"}', values: retries },
  { series: 'notifications_policy_administration_down', values: down },
]

/** The replicas of deployments, by their group. */
const joined = (byGroup: Readonly<Record<string, string>>) =>
  Object.entries(byGroup).map(([group, values]) => ({
    series: `notifications_consumer_joined{namespace="${group}",job="serve",group="${group}"}`,
    values,
  }))
/** Look-ups of two deployments, of which one finds nobody. */
const ofTwo = [...lookUps([0, 100], [0, 0]), ...lookUps([0, 0], [0, 20])].map(({ series, values }, i) => ({
  series: series.replace('}', `,job="${i < 2 ? 'well' : 'wrong'}"}`),
  values,
}))
const answers = (refused: number, answered: number) =>
  [['/log/list', 401, refused] as const, ['/log/list', 200, answered] as const].map(
    ([route, status, count]) =>
      series(`http_response_duration_seconds_count{route="${route}",status="${status}"}`, [count, count]),
  )

const DOWN = 'NotificationsDown'
const TOKENS = 'NotificationsTokensRefused'
const NOT_RETRIED = 'NotificationsNotRetried'
const LOST = 'NotificationsMessagesLost'
const GIVEN_UP = 'NotificationsGivenUp'
const givenUp = (rows: string, total: string, expired: string) => [
  { series: 'notifications_failed_rows{state="given_up"}', values: rows },
  { series: 'notifications_given_up_total', values: total },
  { series: 'notifications_expired_rows', values: expired },
]
const held = (values: string) => [
  { series: 'notifications_hold{topic="claims"}', values },
  {
    series: 'notifications_oldest_unprocessed_event_age_seconds{topic="claims",partition="0"}',
    values: '999x1455',
  },
]
const NOT_COMMITTED = 'NotificationsNotCommitted'
const notCommitted = (holds: string, values: string) => [
  { series: 'notifications_hold{topic="claims",instance="a"}', values: holds },
  { series: 'notifications_batches_total{result="failed",instance="a"}', values },
]
const blockedFor = (reason: string) => [
  {
    series: `notifications_partition_blocked{topic="claims",partition="0",reason="${reason}"}`,
    values: '1x1455',
  },
]
const sent = (values: string) => [
  { series: 'notifications_events_total{event_type="claim.paid",status="SENT"}', values },
]
/** Alerts that compare one gauge: a value that fires, and one that does not. */
const GAUGES = [
  ['NotificationsDatabaseUnreachable', 'notifications_database_reachable{instance="a"}', '0', '1'],
  ['NotificationsBrokerUnreachable', 'notifications_broker_reachable{instance="a"}', '0', '1'],
  ['NotificationsPolicyAdministrationDown', 'notifications_policy_administration_down', '1', '0'],
  ['NotificationsShared', 'notifications_shared{resource="database"}', '1', '0'],
  ['NotificationsPoolExhausted', 'notifications_database_pool_waiters{instance="a"}', '3', '0'],
] as const
const eventLoop = (lagS: string, instance: string) => [
  { series: `nodejs_eventloop_lag_p99_seconds{instance="${instance}"}`, values: `${lagS}x1455` },
  { series: 'notifications_build_info{instance="a"}', values: '1x1455' },
]
type Case = readonly [alert: string, title: string, series: readonly object[], fires: boolean]
const CASES: readonly Case[] = [
  [NOT_FOUND, 'a surge of parties that are not found', lookUps([99, 50], [1, 50]), true],
  [NOT_FOUND, 'one in twenty, as ever', lookUps([95, 95], [5, 5]), false],
  [NOT_FOUND, 'a third of them for a whole day', lookUps([70, 70], [30, 30]), true],
  [NOT_FOUND, 'all of a handful', lookUps([10, 0], [0, 1]), false],
  [NOT_FOUND, 'most of them, on the first day', lookUps([0, 20], [0, 80]), true],
  [
    NOT_FOUND,
    'all of one topic, beside a busy one',
    [...lookUps([0, 0], [0, 2], 'billing'), ...lookUps([900, 900], [0, 0])],
    true,
  ],
  [NOT_FOUND, 'all of them, in one of two deployments', ofTwo, true],
  [DOWN, 'all deployments consume', joined({ a: '1x1455', b: '1x1455' }), false],
  [DOWN, 'one of three is gone', joined({ a: '1x1455', b: '1x1400 stale', c: '1x1455' }), true],
  [DOWN, 'one of two is in no group', joined({ a: '1x1455', b: '0x1455' }), true],
  [
    DOWN,
    'one never started',
    [...joined({ a: '1x1455' }), { series: 'up{job="notifications-b"}', values: '0x1455' }],
    true,
  ],
  [DOWN, 'nothing was ever scraped', [], true],
  [
    'NotificationsDataFault',
    'a fault',
    [{ series: 'notifications_data_fault{fault="no-party"}', values: '1x1455' }],
    true,
  ],
  [
    'NotificationsDataFault',
    'no fault any more',
    [{ series: 'notifications_data_fault{fault="no-party"}', values: '1x1400 0x55' }],
    false,
  ],
  ['NotificationsHeld', 'a topic is held', held('0x1390 1x65'), true],
  ['NotificationsHeld', 'no topic is held any more', held('1x1400 0x55'), false],
  ['NotificationsSurge', 'a mass mailing', sent('0+10x1440 14400+200x15'), true],
  ['NotificationsSurge', 'twice as many as a day ago', sent('0+100x15 1500x1379 1500+60x60'), false],
  ['NotificationsSurge', 'a handful', sent('0x1440 0+20x15'), false],
  ['NotificationsSurge', 'the first hour of a deployment', sent('_x1400 0+90x55'), false],
  ['NotificationsBehind', 'a partition that is behind', held('0x1455'), true],
  ['NotificationsBehind', 'a held partition', held('1x1455'), false],
  [NOT_COMMITTED, 'a batch fails, and none is committed', notCommitted('0x1455', '0+5x1455'), true],
  [NOT_COMMITTED, 'a batch failed minutes ago', notCommitted('0x1455', '0x1450 5x5'), false],
  [NOT_COMMITTED, 'a hold stops a batch', notCommitted('1x1455', '0+5x1455'), false],
  [NOT_RETRIED, 'a hold is in force', [...waiting('5x1455', '7x1455', '0x1455'), ...held('1x1455')], false],
  ['NotificationsPartitionBlocked', 'a held partition', blockedFor('held'), false],
  ['NotificationsPartitionBlocked', 'a locked partition', blockedFor('locked'), true],
  [TOKENS, 'all tokens are refused', answers(5, 0), true],
  [TOKENS, 'some tokens are refused', answers(5, 1), false],
  ['NotificationsWrongParty', 'one answer for another party', wrongParty('0x1440 1x15'), true],
  ['NotificationsWrongParty', 'no answer for another party', wrongParty('0x1455'), false],
  [CONFLICTS, 'a message with the event id of another one', rejected('conflict', '0x1440 1x15'), true],
  [
    CONFLICTS,
    'conflicts before the first scrape of a replica',
    rejected('conflict', '_x1440 119x15', 1440),
    true,
  ],
  [CONFLICTS, 'no more than hours ago', rejected('conflict', '119x1455'), false],
  [CONFLICTS, 'a message that is no event', rejected('not-json', '0x1440 1x15'), false],
  ['NotificationsRejected', 'a message that is no event', rejected('not-json', '0x1440 1x15'), true],
  [
    'NotificationsRejected',
    'a conflict, which has its own alert',
    rejected('conflict', '0x1440 1x15'),
    false,
  ],
  [FOREIGN, 'another database in the group', foreign('0x1440 1x15'), true],
  [FOREIGN, 'it has gone', foreign('1x1440 stale'), false],
  [
    MIXED,
    'two envelope maps',
    builds({ a: ['serve', '1', '1x1455'], b: ['serve', '1', '1x1455'] }).map(({ series, values }, i) => ({
      series: series.replace('}', `,envelope_map_revision="${i}"}`),
      values,
    })),
    true,
  ],
  [MIXED, 'two rule tables', builds({ a: ['serve', '1', '1x1455'], b: ['serve', '2', '_x1438 1x17'] }), true],
  [
    MIXED,
    'the old replicas are gone',
    builds({ a: ['serve', '1', '1x1450 stale'], b: ['serve', '2', '_x1442 1x13'] }),
    false,
  ],
  [
    MIXED,
    'replicas with one table',
    builds({ a: ['serve', '1', '1x1455'], b: ['serve', '1', '1x1455'] }),
    false,
  ],
  [
    MIXED,
    'two deployments with a table each',
    builds({ a: ['one', '1', '1x1455'], b: ['two', '2', '1x1455'] }),
    false,
  ],
  [ROWS_LOST, 'rows lost by a fail-over', rowsLost('0x1440 3x15', 0), true],
  [ROWS_LOST, 'rows lost before the first scrape of a replica', rowsLost('_x1440 3x15', 1440), true],
  [ROWS_LOST, 'rows lost hours ago', rowsLost('3x1455', 0), false],
  ['NotificationsClocksDiffer', 'a clock behind', [{ series: CLOCK, values: '-31x1455' }], true],
  ['NotificationsClocksDiffer', 'clocks that agree', [{ series: CLOCK, values: '29x1455' }], false],
  [LOST, 'messages lost while a replica runs', lost('0x1440 3x15', 0), true],
  [LOST, 'messages lost before the first scrape of a replica', lost('_x1440 3x15', 1440), true],
  [LOST, 'as many as before the replica was restarted', lost('3x1440 3x15', 1440), true],
  [LOST, 'messages lost hours ago', lost('3x1455', 0), false],
  [LOST, 'messages lost hours ago, and a scrape failed', lost('3x1394 stale 3x60', 0), false],
  [LOST, 'no message lost', lost('_x1440 0x15', 1440), false],
  [NOT_RETRIED, 'rows wait, and none is retried', waiting('5x1455', '7x1455', '0x1455'), true],
  [NOT_RETRIED, 'rows wait, and none was ever retried', waiting('5x1455', '_x1455', '0x1455'), true],
  [NOT_RETRIED, 'rows wait, and fail again each minute', waiting('5x1455', '0+5x1455', '0x1455'), false],
  [NOT_RETRIED, 'policy administration is down', waiting('5x1455', '7x1455', '1x1455'), false],
  [NOT_RETRIED, 'no row waits', waiting('0x1455', '7x1455', '0x1455'), false],
  [
    GIVEN_UP,
    'a retry succeeds, with many rows given up',
    givenUp('99996x1440 99997x15', '5x1455', '0x1455'),
    false,
  ],
  [
    GIVEN_UP,
    'a last attempt fails, with more rows than are counted',
    givenUp('100000x1455', '5x1440 6x15', '0x1455'),
    true,
  ],
  [GIVEN_UP, 'a row becomes too old', givenUp('100000x1455', '5x1455', '0x1440 1x15'), true],
  [GIVEN_UP, 'rows were given up hours ago', givenUp('100x1455', '0x900 5x555', '0x1455'), false],
  ...GAUGES.flatMap(([alert, series, firing, quiet]): Case[] => [
    [alert, firing, [{ series, values: `${firing}x1455` }], true],
    [alert, quiet, [{ series, values: `${quiet}x1455` }], false],
  ]),
  ['NotificationsEventLoopBlocked', 'it is slow', eventLoop('0.6', 'a'), true],
  ['NotificationsEventLoopBlocked', 'it is fast', eventLoop('0.4', 'a'), false],
  ['NotificationsEventLoopBlocked', 'another service is slow', eventLoop('0.6', 'b'), false],
  ['NotificationsNoParty', 'every tenth event without a party', outcomes(10, 90), false],
  ['NotificationsNoParty', 'every fifth', outcomes(20, 80), true],
  ['NotificationsNoParty', 'a handful of events, all without a party', outcomes(1, 0), false],
]

const { groups } = parse(
  await readFile(new URL('../../../src/service/telemetry/alerts.yaml', import.meta.url), 'utf8'),
)

t.test('each alert has a case in which it fires, and one in which it does not', async (t) => {
  for (const { alert } of groups[0].rules)
    for (const fires of [true, false])
      t.ok(
        CASES.some((one) => one[0] === alert && one[3] === fires),
        `${alert}, ${fires}`,
      )
})

t.test('alerts fire, and do not fire, as they should', { skip: NO_PROMTOOL }, async (t) => {
  for (const [alert, title, series, fires] of CASES) t.equal(await faultOf(alert, series, fires), '', title)
})

t.test('the alert about missing retries waits for several passes', async (t) => {
  const { expr, for: pending } = groups[0].rules.find(
    ({ alert }: { alert: string }) => alert === 'NotificationsNotRetried',
  )
  const minutes = [...`${expr} [${pending}]`.matchAll(/\[(\d+)m\]/g)].map(([, text]) => Number(text))
  t.equal(minutes.length, 2)
  for (const one of minutes) t.ok(one * 60_000 >= 10 * RETRY_INTERVAL_MS, `${one} minutes`)
})

/** promtool's report if the alert fires unexpectedly, or does not fire. */
async function faultOf(alert: string, series: readonly object[], fires: boolean): Promise<string> {
  const [rule] = groups[0].rules.filter((rule: { alert: string }) => rule.alert === alert)
  const test = {
    interval: '1m',
    input_series: series,
    promql_expr_test: [
      {
        expr: `count(count(${rule.expr})) or vector(0)`,
        eval_time: `${DAY_MINUTES + 15}m`,
        exp_samples: [{ labels: '{}', value: fires ? 1 : 0 }],
      },
    ],
  }
  const file = join(t.testdir({ 'test.yaml': stringify({ tests: [test] }) }), 'test.yaml')
  return promtool(['test', 'rules', file])
}

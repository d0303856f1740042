import t from 'tap'
import { type Checked, check, type Evidence, type InvariantName, type Send } from './check.ts'
import { runChaos } from './run.ts'
import type { Snapshot } from './snapshot.ts'

// By this seed processes sleep before COMMIT and START TRANSACTION, the broker is killed, a network is cut one way, a replica gets
// another rule table, and transactions abort. `make chaos` does more.
const SKIP_MOCK = process.env.KAFKA_KIND === 'mock' && 'the mock broker cannot be started again'

const withSnapshot = (change: (snapshot: Snapshot) => Partial<Snapshot>) => (world: Checked) => ({
  ...world,
  snapshot: { ...world.snapshot, ...change(world.snapshot) },
})
const withEvidence = (change: (evidence: Evidence) => Partial<Evidence>) => (world: Checked) => ({
  ...world,
  evidence: { ...world.evidence, ...change(world.evidence) },
})
const withSends = (change: (sends: readonly Send[]) => readonly Send[]) =>
  withEvidence(({ sends }) => ({ sends: change(sends) }))
const withoutRecords = (pattern: RegExp) => (world: Checked) => ({
  ...world,
  records: world.records.filter(({ value }) => !pattern.test(String(value))),
})
/** Later than all rows. */
const erasuresOfAll = ({ log }: Snapshot) =>
  log.flatMap(({ party_locator: party }) =>
    party === null ? [] : { party, startedMs: Number.MAX_SAFE_INTEGER, endedMs: Number.MAX_SAFE_INTEGER },
  )
const NO_END: Readonly<Record<string, number>> = new Proxy({}, { get: () => Number.MAX_SAFE_INTEGER })
const LONG_AGO = { atMs: 0 }

/** For each invariant, a flaw in a correct world and its expected report. */
const FLAWS: Readonly<Record<InvariantName, Readonly<Record<string, (world: Checked) => Checked>>>> = {
  'one row per event': {
    'a lost row': withSnapshot(({ log }) => ({ log: log.slice(1) })),
    'a row of an event that was not committed': withoutRecords(/"transaction-/),
    'a second row': withSnapshot(({ log }) => ({ log: [...log, ...log.slice(0, 1)] })),
  },
  'each row is one that the model allows': {
    'another text': withSnapshot(({ log }) => ({ log: log.map((row) => ({ ...row, body: 'Hello' })) })),
    'a look-up that was never answered': (world) => ({
      ...world,
      evidence: { ...world.evidence, answers: new Map() },
    }),
  },
  'decisions and rows agree': {
    'a lost decision': withSnapshot(({ decisions }) => ({ decisions: decisions.slice(0, -1) })),
  },
  'one receipt per row sent by EMAIL or SMS': {
    'lost receipts': withSnapshot(({ decisions }) => ({
      decisions: decisions.map((decision) => ({ ...decision, receipt: null })),
    })),
  },
  'each message goes to its own party': {
    'the address of another': withSends((sends) =>
      sends.map((send) => ({ ...send, to: 'party-plain-none@example.com' })),
    ),
  },
  'each rejected message once, with its place': {
    'a lost message': withSnapshot(({ rejected }) => ({ rejected: rejected.slice(1) })),
    'a message that appears twice': withSnapshot(({ rejected }) => ({
      rejected: [...rejected, ...rejected.slice(0, 1)],
    })),
  },
  'an acknowledged change of preferences is stored': {
    'lost changes': withSnapshot(() => ({ changes: [] })),
  },
  'a decision follows the newest acknowledged change': {
    'decisions by no change': withSnapshot(({ decisions }) => ({
      decisions: decisions.map((decision) => ({ ...decision, change_id: null })),
    })),
  },
  'a reader sees the newest acknowledged change': {
    'readers who see none': withEvidence(({ reads }) => ({
      reads: reads.map((read) => ({ ...read, number: null })),
    })),
  },
  'no acknowledged opt-out is overrun': {
    'only opt-outs': withEvidence(({ puts }) => ({ puts: puts.map((put) => ({ ...put, optsOut: true })) })),
  },
  'a decision follows a rule table that runs': {
    'replicas that had ended': withEvidence(({ runs }) => ({
      runs: runs.map((run) => ({ ...run, toMs: 0 })),
    })),
  },
  'an erased member leaves no text': {
    'texts of erased members': (world) => ({
      ...world,
      evidence: { ...world.evidence, erasures: erasuresOfAll(world.snapshot) },
    }),
  },
  'a pruned row is gone, and tells nobody again': {
    'a row that was pruned before': withSnapshot(({ log }) => ({
      gone: log.map((row) => ({ ...row, locator: 'another', is_old: true, checkpoints: NO_END })),
    })),
    'a row that is still retried': withSnapshot(({ gone }) => ({
      gone: gone.map((row) => ({ ...row, status: 'FAILED' })),
    })),
    'decisions of a pruned row': withSnapshot(({ log }) => ({
      gone: log.map((row) => ({ ...row, is_old: true, checkpoints: {} })),
    })),
  },
  'a redriven message has one row, a dismissed one none': {
    'a message without a result': withSnapshot(() => ({ redrives: [] })),
    'a lost row': withSnapshot(({ redrives, log }) => {
      const logged = new Set(redrives.map(({ locator }) => locator))
      return { log: log.filter(({ locator }) => !logged.has(locator)), gone: [] }
    }),
    'a dismissed event': withSnapshot(({ redrives }) => ({
      redrives: redrives.map((row) => ({ ...row, result: 'dismissed', locator: null })),
    })),
  },
  'no checkpoint moves back': {
    'one that was deleted': withSnapshot(() => ({
      setBack: [{ topic: 'claims', partition: 0, was: 7, became: null }],
    })),
  },
  'nothing lies beyond its checkpoint': {
    'lost checkpoints': withSnapshot(() => ({ checkpoints: [] })),
    'a row, for a moment': withSnapshot(() => ({ beyondCount: 1 })),
  },
  'all is caught up': {
    'a message that is left': (world) => ({
      ...world,
      ends: new Map([...world.ends].map(([topic, ends]) => [topic, { ...ends, 0: (ends[0] ?? 0) + 1 }])),
    }),
  },
  'each row is sent, and sent once': {
    'messages that no sender had': withSends(() => []),
    'a message that its sender had twice': withSends((sends) => [
      ...sends,
      ...sends.slice(0, 1).flatMap((send) => Array(2).fill({ ...send, ...LONG_AGO })),
    ]),
    'a message of no row': withSends((sends) => [
      ...sends,
      { ...LONG_AGO, channel: 'EMAIL', key: 'invented/1', to: 'nobody' },
    ]),
  },
  'requests end': { 'an open request': withSnapshot(() => ({ openRequestCount: 1 })) },
  'retries settle': {
    'rows that could be sent and are not': withSnapshot(({ log }) => ({
      log: log.map((row) => ({ ...row, status: 'FAILED' })),
    })),
  },
}

t.test('two cycles of faults lose nothing and duplicate nothing', { skip: SKIP_MOCK }, async (t) => {
  const report = await runChaos({
    seed: 34328,
    cycleCount: 2,
    poolMode: null,
    replicaCount: 2,
    brokerCount: 1,
    logDir: t.testdir(),
    log: (line) => t.comment(line),
  })
  t.strictSame(report.violations, [])
  const { requestedCount, secondTableCount, erasedCount, putCount, storedCount } = report
  const { redrivenCount, dismissedCount, prunedCount } = report
  const counts = {
    requestedCount,
    secondTableCount,
    erasedCount,
    storedCount,
    redrivenCount,
    dismissedCount,
    prunedCount,
  }
  t.comment({ ...counts, putCount })
  for (const [name, count] of Object.entries(counts)) t.ok(count > 0, name)
  t.ok(report.rowCount > 0 && report.rejectedCount > 0 && Object.keys(report.faultCounts).length > 0)

  await t.test('each flaw in the outcome is reported by its invariant', async (t) => {
    const { checked } = report
    if (checked === null) throw new Error('nothing was checked')
    for (const [invariant, flaws] of Object.entries(FLAWS)) {
      for (const [title, flawed] of Object.entries(flaws)) {
        const violated = new Set<string>(check(flawed(checked), 'settled').map(({ invariant }) => invariant))
        t.ok(violated.has(invariant), `${invariant}: ${title}`)
      }
    }
  })
})

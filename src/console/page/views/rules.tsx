import { useState } from 'preact/hooks'
import { cellText, FACT_LIST } from '../../../service/decide/decision/facts.ts'
import { nameOfChannel } from '../../../service/decide/party/channel.ts'
import type { CurrentRule, CurrentRules } from '../../../service/decide/rules/current-rules.ts'
import type { DecisionPage } from '../../../service/model/decision-group.ts'
import { readPages } from '../api.ts'
import { type Row, Table } from '../list.tsx'
import { Badge, Facts, State, Time, Value } from '../parts.tsx'
import { type Period, PeriodForm } from '../period.tsx'
import { buildHref } from '../route.ts'
import { counted, formatNumber, visible } from '../text.ts'
import { useData } from '../use-data.ts'
import { useRun } from '../use-run.ts'

const EVERY_MS = 30_000

/** The rule table in force. Each rule links to the entries that it decided. */
export function RulesView() {
  const loaded = useData<CurrentRules>(['rules'], {}, EVERY_MS)
  return (
    <>
      <p class="text-light">
        Rules apply from top to bottom: the first one whose cells all match decides. A blank cell matches
        anything. <a href={buildHref(['workbench'])}>Try a change in the workbench</a>.
      </p>
      <State loaded={loaded} />
      {loaded.data !== null && <CurrentTable rules={loaded.data} />}
    </>
  )
}

function CurrentTable({ rules: { revision, activations, warnings, rules } }: { rules: CurrentRules }) {
  const [use, setUse] = useState<Use | null>(null)
  const run = useRun()
  const activation = activations.find((activated) => activated.revision === revision)
  const ids = new Set(rules.map(({ ruleId }) => ruleId))
  const gone = [...(use?.byRule ?? [])].filter(([ruleId]) => !ids.has(ruleId))
  return (
    <>
      {warnings.map((warning) => (
        <p key={warning} class="notice">
          {warning}
        </p>
      ))}
      <Facts
        facts={{
          Revision: revision.slice(0, 12),
          'In force since': activation ? <Time iso={activation.activatedAt} /> : null,
          Commit: activation?.gitSubject ?? activation?.gitCommit?.slice(0, 12) ?? null,
        }}
      />
      <PeriodForm
        verb="Count the events of each rule"
        run={run}
        refusal={null}
        onPeriod={(period) => run.start(async (...following) => setUse(await countUse(period, ...following)))}
      />
      {use !== null && (
        <p>
          {describeUse(use)}
          {gone.length > 0 &&
            ` By rules that this table does not have: ${gone.map(([id, count]) => `${visible(id)} ${formatNumber(count)}`).join(', ')}.`}
        </p>
      )}
      <Table label="Rule table" rows={rules.map((rule) => renderRule(rule, use))} />
    </>
  )
}

/** Events of a period, by the last deciding rule and its outcome. */
interface Use extends Period {
  readonly byRule: ReadonlyMap<string, number>
  readonly byOutcome: ReadonlyMap<string, number>
}

async function countUse(
  period: Period,
  signal: AbortSignal,
  setProgress: (words: string) => void,
): Promise<Use> {
  const [byRule, byOutcome] = [new Map<string, number>(), new Map<string, number>()]
  const add = (counts: Map<string, number>, key: string, more: number) =>
    counts.set(key, (counts.get(key) ?? 0) + more)
  let seen = 0
  for await (const page of readPages<DecisionPage>(['workbench', 'decisions'], { ...period }, signal)) {
    for (const { ruleId, outcome, count } of page.groups) {
      add(byRule, ruleId, count)
      add(byOutcome, outcome, count)
    }
    seen += page.events
    setProgress(`${counted(seen, 'event', 'events')} counted…`)
  }
  return { ...period, byRule, byOutcome }
}

/** By the last decision about each event. */
function describeUse({ byOutcome }: Use): string {
  const count = (outcome: string) => formatNumber(byOutcome.get(outcome) ?? 0)
  return `Of ${counted(sum(byOutcome), 'event', 'events')}, ${count('SEND')} were to be sent, ${count('SKIP')} skipped, and ${count('FAIL')} failed.`
}

function sum(counts: ReadonlyMap<string, number>): number {
  return [...counts.values()].reduce((total, count) => total + count, 0)
}

function renderRule(rule: CurrentRule, use: Use | null): Row {
  const { ruleId, outcome, sendBy, reason, because } = rule
  return {
    key: ruleId,
    href: buildHref(['log'], { rule: ruleId, from: use?.from, to: use?.to }),
    cells: {
      Rule: ruleId,
      'Applies to': describeConditions(rule),
      Outcome: (
        <>
          <Badge status={outcome} />{' '}
          {outcome === 'SEND' ? (
            `by ${sendBy === null ? 'the preferred channel' : nameOfChannel(sendBy)}`
          ) : (
            <Value text={reason} />
          )}
        </>
      ),
      Because: because,
      ...(use !== null && { Events: formatNumber(use.byRule.get(ruleId) ?? 0) }),
    },
  }
}

/** The conditions of a rule, cell by cell. */
function describeConditions(rule: CurrentRule): string {
  const facts = FACT_LIST.map(([key, { column }]) => [
    column,
    rule[key] === null ? null : nameOfChannel(cellText(rule[key])),
  ])
  const cells = [['event type', rule.eventType], ...facts].filter(([, value]) => value !== null)
  return cells.length === 0 ? 'every event' : cells.map((cell) => cell.join(' ')).join(', ')
}

import { cellText, FACT_LIST } from '../../../service/decide/decision/facts.ts'
import { nameOfChannel } from '../../../service/decide/party/channel.ts'
import type { CurrentRule, CurrentRules } from '../../../service/decide/rules/current-rules.ts'
import { type Row, Table } from '../list.tsx'
import { Badge, Facts, State, Time, Title, Value } from '../parts.tsx'
import { buildHref } from '../route.ts'
import { useData } from '../use-data.ts'

const EVERY_MS = 30_000

/** The rule table in force. Each rule links to the entries that it decided. */
export function RulesView() {
  const loaded = useData<CurrentRules>(['rules'], {}, EVERY_MS)
  return (
    <>
      <Title name="Rules" />
      <p class="text-light">
        Rules apply from top to bottom: the first one whose cells all match decides. A blank cell matches
        anything. <a href={buildHref(['workbench'])}>Try a change in the workbench</a>.
      </p>
      <State loaded={loaded} />
      {loaded.data !== null && <Shown rules={loaded.data} />}
    </>
  )
}

function Shown({ rules: { revision, activation, warnings, rules } }: { rules: CurrentRules }) {
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
          'In force since': activation && <Time iso={activation.activatedAt} />,
          Commit: activation?.gitCommit?.slice(0, 12) ?? null,
        }}
      />
      <Table label="Rule table" rows={rules.map(renderRow)} />
    </>
  )
}

function renderRow(rule: CurrentRule): Row {
  const { ruleId, outcome, sendBy, reason, because } = rule
  return {
    key: ruleId,
    href: buildHref(['log'], { rule: ruleId }),
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

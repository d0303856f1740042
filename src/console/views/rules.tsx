import { cellText, FACT_LIST } from '../../core/decision/facts.ts'
import type { CurrentRule, CurrentRules } from '../../core/rules/current-rules.ts'
import { type Row, Table, timeCell } from '../list.tsx'
import { Badge, Facts, State, Time, Title, Value } from '../parts.tsx'
import { hrefOf } from '../route.ts'
import { counted, numberOf } from '../text.ts'
import { useData } from '../use-data.ts'

const EVERY_MS = 30_000

/** The rule table in force, with the number of decisions of each rule. */
export function RulesView() {
  const loaded = useData<CurrentRules>(['rules'], {}, EVERY_MS)
  const rules = loaded.data
  return (
    <>
      <Title name="Rules" />
      <p class="faint">
        Rules apply from top to bottom: the first one whose cells all match decides. A blank cell matches
        anything. <a href={hrefOf(['workbench'])}>Try a change in the workbench</a>.
      </p>
      <State of={loaded} />
      {rules !== null && (
        <>
          <Revision of={rules} />
          <Table
            label="Rule table"
            columns={[
              ['Rule', 'middle mono'],
              'Applies to',
              'Outcome',
              'Because',
              ['Decisions', 'number short'],
              ['Last used', 'short'],
            ]}
            rows={rules.rules.map(rowOf)}
          />
        </>
      )}
    </>
  )
}

function rowOf(rule: CurrentRule): Row {
  const { ruleId, outcome, sendBy, reason, because, count, lastAt } = rule
  return {
    key: ruleId,
    cells: {
      Rule: ruleId,
      'Applies to': <Conditions of={rule} />,
      Outcome: (
        <>
          <Badge of={outcome} />
          <div class="faint">
            {outcome === 'SEND' ? `by ${sendBy ?? 'the preferred channel'}` : <Value of={reason} />}
          </div>
        </>
      ),
      Because: <Value of={because} />,
      Decisions: numberOf(count),
      'Last used': timeCell(lastAt),
    },
  }
}

function Revision({ of: { revision, activation, counted: among } }: { of: CurrentRules }) {
  const decisions = counted(among.lookedAt, 'decision', 'decisions')
  return (
    <Facts
      of={{
        Revision: revision.slice(0, 12),
        'In force since': activation && <Time of={activation.activatedAt} />,
        Commit: activation?.gitCommit?.slice(0, 12) ?? null,
        'Counts cover': `${among.complete ? 'all' : 'the newest'} ${decisions}`,
        'Counted since': <Time of={among.since} />,
      }}
    />
  )
}

/** The conditions of a rule, cell by cell. */
function Conditions({ of }: { of: CurrentRule }) {
  const facts = FACT_LIST.map(([key, { column }]) => [column, of[key] === null ? null : cellText(of[key])])
  const cells = [['event type', of.eventType], ...facts].filter(([, value]) => value !== null)
  if (cells.length === 0) return <span class="faint">every event</span>
  return (
    <ul class="cells">
      {cells.map(([column, value]) => (
        <li key={column}>
          {column} <strong>{value}</strong>
        </li>
      ))}
    </ul>
  )
}

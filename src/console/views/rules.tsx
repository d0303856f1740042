import { cellText, FACT_LIST } from '../../core/decision/facts.ts'
import type { CurrentRule, CurrentRules } from '../../core/rules/current-rules.ts'
import { Badge, State, Table, Time, Title, Value } from '../parts.tsx'
import { hrefOf } from '../route.ts'
import { counted, numberOf } from '../text.ts'
import { useData } from '../use-data.ts'

const EVERY_MS = 30_000

/** The rule table in force, and how often each rule decided. */
export function RulesView() {
  const loaded = useData<CurrentRules>(['rules'], {}, EVERY_MS)
  const rules = loaded.data
  return (
    <>
      <Title name="Rules" />
      <p class="lead">
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
              'Rule',
              'Applies to',
              'Outcome',
              ['Because', 'wide'],
              ['Decisions', 'number'],
              'Last used',
            ]}
            rows={rules.rules.map((rule) => ({
              key: rule.ruleId,
              cells: [
                <span class="nowrap">
                  <Value of={rule.ruleId} mono />
                </span>,
                <Cells of={rule} />,
                <>
                  <Badge of={rule.outcome} />
                  <br />
                  <span class="faint">
                    {rule.outcome === 'SEND' ? (
                      `by ${rule.sendBy ?? 'the preferred channel'}`
                    ) : (
                      <Value of={rule.reason} />
                    )}
                  </span>
                </>,
                <Value of={rule.because} />,
                <>
                  {numberOf(rule.count)}
                  <Share of={rule.count} among={rules.counted.lookedAt} />
                </>,
                <Time of={rule.lastAt} />,
              ],
            }))}
          />
        </>
      )}
    </>
  )
}

function Revision({ of: { revision, activation, counted: among } }: { of: CurrentRules }) {
  return (
    <p class="faint">
      Revision <span class="mono">{revision.slice(0, 12)}</span>
      {activation !== null && (
        <>
          , in force since <Time of={activation.activatedAt} />
        </>
      )}
      {activation?.gitCommit && (
        <>
          {' '}
          (commit <Value of={activation.gitCommit.slice(0, 12)} mono />)
        </>
      )}
      . Counts cover {among.complete ? 'all' : 'the newest'}{' '}
      {counted(among.lookedAt, 'decision', 'decisions')}
      {among.since !== null && (
        <>
          , since <Time of={among.since} />
        </>
      )}
      .
    </p>
  )
}

/** The conditions of a rule, cell by cell. */
function Cells({ of }: { of: CurrentRule }) {
  const cells = [
    ['event type', of.eventType],
    ...FACT_LIST.map(([key, { column }]) => [column, of[key] === null ? null : cellText(of[key])]),
  ].filter(([, value]) => value !== null)
  if (cells.length === 0) return <span class="faint">every event</span>
  return (
    <ul class="cells">
      {cells.map(([name, value]) => (
        <li key={name}>
          {name} <strong>{value}</strong>
        </li>
      ))}
    </ul>
  )
}

/** A bar for the number beside it. */
function Share({ of, among }: { of: number; among: number }) {
  return (
    <span class="share" aria-hidden="true">
      <span class="share-part" style={{ width: `${among === 0 ? 0 : (100 * of) / among}%` }} />
    </span>
  )
}

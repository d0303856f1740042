import { useState } from 'preact/hooks'
import { diffRuleTables } from '../../../authoring/diff/compare-tables.ts'
import { describeDiff } from '../../../authoring/diff/diff-text.ts'
import { loadVersion } from '../../../authoring/diff/review.ts'
import type { Activation, CurrentRules } from '../../../service/decide/rules/current-rules.ts'
import { read } from '../api.ts'
import { Bullets, Button, Problem, State, Time } from '../parts.tsx'
import { useData } from '../use-data.ts'
import { useRun } from '../use-run.ts'
import { type Bench, buildRows, type Verdict } from './draft.ts'

/** More than people read. */
const SHOWN_COUNT_MAX = 50

type EarlierProps = Pick<Bench, 'change'> & {
  readonly verdict: Verdict
  readonly repositoryUrl: string | null
}

/** The tables that were in force, newest first. Each can be compared with its predecessor and taken as the draft. */
export function EarlierTables(props: EarlierProps) {
  const loaded = useData<CurrentRules>(['rules'], {})
  const activations = loaded.data?.activations.slice(0, SHOWN_COUNT_MAX) ?? []
  return (
    <>
      <State loaded={loaded} />
      <ul>
        {activations.map((activation, at) => (
          <Earlier
            key={activation.activatedAt}
            {...props}
            activation={activation}
            until={activations[at - 1]?.activatedAt ?? null}
            before={loaded.data?.activations[at + 1] ?? null}
          />
        ))}
      </ul>
    </>
  )
}

interface OneProps extends EarlierProps {
  readonly activation: Activation
  /** Null: it is in force. */
  readonly until: string | null
  /** Null: it was the first. */
  readonly before: Activation | null
}

function Earlier({ activation, until, before, verdict, repositoryUrl, change }: OneProps) {
  const { activatedAt, gitCommit, gitSubject, revision } = activation
  const commit = gitSubject ?? `commit ${gitCommit?.slice(0, 12)}`
  const run = useRun()
  const [changes, setChanges] = useState<readonly string[] | null>(null)
  const compare = () =>
    run.start(async (signal) => {
      const [was, is] = await Promise.all(
        [before?.revision, revision].map(async (table) => table && (await readTable(table, signal))),
      )
      setChanges(await describeBetween(was ?? '', is ?? '', verdict))
    })
  const take = () =>
    run.start(async (signal) => change({ table: buildRows('table', await readTable(revision, signal)) }))
  return (
    <li>
      <Time iso={activatedAt} /> to {until === null ? 'now' : <Time iso={until} />}
      {gitCommit !== null && (
        <>
          , {repositoryUrl === null ? commit : <a href={`${repositoryUrl}/commit/${gitCommit}`}>{commit}</a>}
        </>
      )}{' '}
      {before !== null && changes === null && <Button onClick={compare}>What it changed</Button>}
      {until !== null && <Button onClick={take}>Take as the draft</Button>}
      <Problem problem={run.problem} />
      {changes !== null && <Bullets lines={changes.length === 0 ? ['No decision'] : changes} />}
    </li>
  )
}

async function readTable(revision: string, signal: AbortSignal): Promise<string> {
  const { source } = await read<{ source: string | null }>(['workbench', 'rule-tables', revision], {}, signal)
  if (source === null) throw new Error('The archive does not have this table.')
  return source
}

/** The changes from one table to the next, by today's texts. */
async function describeBetween(was: string, is: string, { texts }: Verdict): Promise<string[]> {
  const [before, after] = await Promise.all(
    [was, is].map((table) => loadVersion({ table, promises: '' }, texts)),
  )
  if (!before?.ruleTable || !after?.ruleTable)
    throw new Error('This version cannot compare them: it would refuse one of the tables.')
  return describeDiff(diffRuleTables(before.ruleTable, after.ruleTable))
}

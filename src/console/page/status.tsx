import type { ServiceStatus } from '../../service/model/service-status.ts'
import { Ask, useRefusal } from './ask.tsx'
import { Tag } from './parts.tsx'
import { counted, localTime, visible } from './text.ts'
import type { Loaded } from './use-data.ts'

const PARTS = { consuming: 'Receiving events', database: 'Database', lookUps: 'Contact look-ups' } as const

/** The colour and the sign of a part. */
const LOOKS = {
  works: ['success', 'dot'],
  partly: ['warning', 'dash'],
  down: ['danger', 'cross'],
  unknown: ['secondary', 'question'],
} as const

/** The state of each part, with the reason if it does not work; no part is known while the service does not respond. */
function listParts(data: ServiceStatus | null, problem: string | null) {
  return Object.entries(PARTS).map(([key, name]) => {
    const reason = data?.[key as keyof typeof PARTS] ?? null
    if (problem !== null || data === null)
      return { name, state: 'unknown', reason: problem ?? 'not known yet' } as const
    if (reason === null && key === 'consuming' && data.blocked.length > 0) {
      const isAll = data.blocked.length >= (data.assignedCount ?? Infinity)
      return { name, state: isAll ? 'down' : 'partly', reason: describeStopped(data.blocked).whole } as const
    }
    if (reason === null) return { name, state: 'works', reason } as const
    const isUnknown = key === 'consuming' && data.isStarting
    return { name, state: isUnknown ? 'unknown' : 'down', reason } as const
  })
}

/** Example: "1 blocked partition", ", 1,204 events wait". */
function describeStopped(blocked: ServiceStatus['blocked']) {
  const waiting = blocked.reduce((sum, one) => sum + (one.waiting ?? 0), 0)
  const [what, more] = [
    counted(blocked.length, 'blocked partition', 'blocked partitions'),
    `, ${counted(waiting, 'event waits', 'events wait')}`,
  ]
  return { what, waiting: more, whole: `${what}${more}` }
}

/** What goes on by itself, and what to do. */
const NEXT = {
  'Receiving events': '',
  Database: ' Once it answers, the service goes on by itself.',
  'Contact look-ups':
    ' Start policy administration, or mend the network to it: the events that need it wait, and go on by themselves.',
} as const

/** Example: " 1,204 events wait, the oldest since 31 Jan 2026, 12:00." */
function describeWaiting(totals: ServiceStatus['totals']): string {
  if (!totals?.waiting || totals.waitingSince === null) return ''
  return ` ${counted(totals.waiting, 'event waits', 'events wait, the oldest')} since ${localTime(totals.waitingSince)}.`
}

/** Opens the list of blocked partitions. */
export function showBlockedList(): void {
  const list = document.getElementById('blocked')
  list?.setAttribute('open', '')
  list?.querySelector('summary')?.focus()
}

/**
 * A dot for each part of the service, with the reason if it is not well, and the blocked partitions of this replica. It takes its place
 * before anything is known, so that nothing below moves under a click.
 */
export function Status({ loaded: { data, problem } }: { loaded: Loaded<ServiceStatus> }) {
  const parts = listParts(data, problem)
  const blocked = data?.blocked ?? []
  const stopped = blocked.length > 0 ? describeStopped(blocked) : null
  return (
    <>
      <ul class="hstack unstyled status" aria-label="State of the service">
        {parts.map(({ name, state, reason }) => (
          <li key={name} title={state === 'works' ? `${name}: works` : `${name}: ${state}: ${reason}`}>
            <Tag tone={LOOKS[state][0]} sign={LOOKS[state][1]}>
              {name}
            </Tag>
          </li>
        ))}
      </ul>
      <div role="alert">
        {problem !== null && <p class="notice">State unknown: {visible(problem)}</p>}
        {parts
          .filter(
            ({ state, reason }) =>
              data !== null && problem === null && state !== 'works' && reason !== stopped?.whole,
          )
          .map(({ name, state, reason }) => (
            <p key={name} class={state === 'down' ? 'notice notice-bad' : 'notice'}>
              {visible(
                `${name}: ${reason}${state === 'unknown' ? '' : `${NEXT[name]}${describeWaiting(data?.totals)}`}`,
              )}
            </p>
          ))}
        {data?.holds.map(({ id, topics, by, because, since }) => (
          <p key={id} class="notice notice-bad">
            {visible(
              `Messages are held (${topics?.join(', ') ?? 'all topics'}) since ${localTime(since)}, by ${by}: ${because}. Nothing is lost: events wait until an operator runs the command resume.${describeWaiting(data.totals)}`,
            )}
          </p>
        ))}
        {data?.notices.map(({ subject, text, remedy }) => (
          <p key={subject} class="notice">
            {visible(`${text}. ${remedy}`)}
          </p>
        ))}
        {stopped !== null && (
          <details id="blocked">
            <summary>
              {stopped.what}
              <span class="wide">{stopped.waiting}</span>
            </summary>
            <ul>
              {blocked.map((one) => (
                <BlockedPartition key={`${one.topic}/${one.partition}`} blocked={one} />
              ))}
            </ul>
          </details>
        )}
      </div>
    </>
  )
}

const LOST = 'Its events are lost, and their members get no message, unless they are published again.'

function BlockedPartition({ blocked }: { blocked: ServiceStatus['blocked'][number] }) {
  const { topic, partition, offset, since, waiting, reason, remedy, isSkippable } = blocked
  const mayAsk = useRefusal() === null
  const wanted = { kind: 'skip', batch: { topic, partition, offset } }
  return (
    <li>
      {visible(`${topic}/${partition}, since ${localTime(since)}: ${reason}. ${remedy}`)}{' '}
      {waiting != null && `${counted(waiting, 'event waits', 'events wait')}. `}
      {mayAsk && isSkippable && offset !== null && (
        <Ask
          verb="Skip this batch"
          what={`offset ${offset} of ${topic}/${partition}`}
          wanted={wanted}
          warning={LOST}
        />
      )}
    </li>
  )
}

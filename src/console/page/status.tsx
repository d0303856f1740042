import type { ComponentChildren } from 'preact'
import type { ServiceStatus } from '../../service/model/service-status.ts'
import { Ask, Resume, useRefusal } from './ask.tsx'
import { ServiceText, Tag } from './parts.tsx'
import { buildHref } from './route.ts'
import { capital, counted, localTime, sentence, visible } from './text.ts'
import type { Loaded } from './use-data.ts'

const PARTS = { consuming: 'Receiving events', database: 'Database', lookUps: 'Contact look-ups' } as const

/** Parts of their names that are hidden on phones. */
const LONG = /(Receiving | look-ups)/

/** The colour and the sign of a part. */
const LOOKS = {
  works: ['success', 'dot'],
  partly: ['warning', 'dash'],
  held: ['warning', 'dash'],
  down: ['danger', 'cross'],
  unknown: ['secondary', 'question'],
} as const

/** The state of each part, with the reason if it does not work; unknown while the service does not respond. */
function listParts(data: ServiceStatus | null, problem: string | null) {
  return Object.entries(PARTS).map(([key, name]) => {
    const reason = data?.[key as keyof typeof PARTS] ?? null
    if (problem !== null || data === null)
      return { name, state: 'unknown', reason: problem ?? 'not known yet' } as const
    if (reason === null && key === 'consuming' && data.blocked.length > 0) {
      const isAll = data.blocked.length >= (data.partitionCount ?? Infinity)
      return { name, state: isAll ? 'down' : 'partly', reason: describeStopped(data.blocked).whole } as const
    }
    if (reason === null && key === 'consuming' && data.holds.length > 0)
      return { name, state: 'held', reason: data.holds.map(nameHeld).join('; ') } as const
    if (reason === null) return { name, state: 'works', reason } as const
    const isUnknown = key === 'consuming' && data.isStarting
    const since = key === 'lookUps' && data.lookUpsFailSince
    const whole = since ? `${reason}, since ${localTime(since)}` : reason
    return { name, state: isUnknown ? 'unknown' : 'down', reason: whole } as const
  })
}

type ShownHold = ServiceStatus['holds'][number]

function nameHeld({ topics }: ShownHold): string {
  return topics?.join(', ') ?? 'all topics'
}

/** Example: ": 1,204 events wait". */
function describeHeld({ waiting }: ShownHold): string {
  if (waiting === null) return ''
  return `: ${waiting === undefined ? 'counting the events that wait…' : counted(waiting, 'event waits', 'events wait')}`
}

/** Example: "1 blocked partition", ", 1,204 events wait". */
function describeStopped(blocked: ServiceStatus['blocked']) {
  const waiting = blocked.reduce((sum, partition) => sum + (partition.waiting ?? 0), 0)
  const [what, more] = [
    counted(blocked.length, 'blocked partition', 'blocked partitions'),
    `, ${counted(waiting, 'event waits', 'events wait')}`,
  ]
  return { what, waiting: more, whole: `${what}${more}` }
}

/** Explains what continues without help, and what to do. */
function describeNext(name: string, data: ServiceStatus | null): string {
  switch (name) {
    case PARTS.lookUps:
      return `Start policy administration, or repair the network to it. ${describeRetries(data)}`
    case PARTS.database:
      return `Once it answers, the service goes on by itself.${describeWaiting(data?.totals)}`
    default:
      return describeWaiting(data?.totals)
  }
}

/** While look-ups fail no event waits: each gets a FAILED entry, which is retried. */
function describeRetries(data: ServiceStatus | null): string {
  const { totals, retryMaxAgeMs } = data ?? {}
  const failed = totals?.retrying
    ? `${counted(totals.retrying, 'message has', 'messages have')} failed so far; each is`
    : 'Messages that fail meanwhile are'
  const hours = retryMaxAgeMs && `until ${counted(retryMaxAgeMs / 3_600_000, 'hour', 'hours')} after`
  return `${failed} tried again ${hours || 'for some time after'} ${totals?.retrying ? 'its' : 'their'} event.`
}

/** Example: " 1,204 events wait, the oldest since 31 Jan 2026, 12:00." */
function describeWaiting(totals: ServiceStatus['totals']): string {
  if (!totals?.waiting) return ''
  if (totals.waitingSince === null) return ` ${counted(totals.waiting, 'event waits', 'events wait')}.`
  return ` ${counted(totals.waiting, 'event waits', 'events wait, the oldest')} since ${localTime(totals.waitingSince)}.`
}

interface BannerProps {
  readonly isBad?: boolean
  readonly fact: ComponentChildren
  readonly children: ComponentChildren
}

/** One line that opens, so that many notices leave room for the page. */
function Banner({ isBad = false, fact, children }: BannerProps) {
  return (
    <details class={isBad ? 'notice notice-bad' : 'notice'}>
      <summary>{typeof fact === 'string' ? visible(fact) : fact}</summary>
      <p>{children}</p>
    </details>
  )
}

/** Opens the list of blocked partitions. */
export function showBlockedList(): void {
  const list = document.getElementById('blocked')
  list?.setAttribute('open', '')
  list?.querySelector('summary')?.focus()
}

/**
 * A dot for each part of the service, with the reason if it fails, and the blocked partitions. Takes its space before anything is
 * known, so that nothing below moves under a click.
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
              <span>
                {name
                  .split(LONG)
                  .map((part, index) => (index % 2 === 1 ? <span class="wide">{part}</span> : part))}
              </span>
            </Tag>
          </li>
        ))}
      </ul>
      <div role="alert">
        {problem !== null && <p class="notice">State unknown: {visible(problem)}</p>}
        {parts
          .filter(
            ({ state, reason }) =>
              data !== null &&
              problem === null &&
              state !== 'works' &&
              state !== 'held' &&
              reason !== stopped?.whole,
          )
          .map(({ name, state, reason }) => (
            <Banner key={name} isBad={state === 'down'} fact={`${name}: ${reason}`}>
              {state === 'unknown' ? 'The service goes on by itself.' : visible(describeNext(name, data))}
            </Banner>
          ))}
        {data?.holds.map((hold) => (
          <Banner key={hold.id} fact={`Messages are held (${nameHeld(hold)})${describeHeld(hold)}`}>
            {visible(
              `Nothing is lost. Since ${localTime(hold.since)}, by ${hold.by}: ${sentence(hold.because)}`,
            )}{' '}
            <Resume
              hold={hold.id}
              what={`hold of ${nameHeld(hold)}`}
              about={`Held by ${hold.by}: ${sentence(hold.because)} ${sentence(`Nothing is lost${describeHeld(hold)}`)}`}
            />
          </Banner>
        ))}
        {data?.notices.map(({ subject, text, remedy, entries }) => (
          <Banner key={subject} fact={<ServiceText sentence={capital(text)} />}>
            <ServiceText sentence={sentence(capital(remedy)).replaceAll('`', '')} />{' '}
            {entries && <a href={buildHref(['log'], entries)}>Who got them</a>}
          </Banner>
        ))}
        {stopped !== null && (
          <details id="blocked">
            <summary>
              {stopped.what}
              <span class="wide">{stopped.waiting}</span>
            </summary>
            <ul>
              {blocked.map((partition) => (
                <BlockedPartition key={`${partition.topic}/${partition.partition}`} blocked={partition} />
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
      {visible(
        `${topic}/${partition}, since ${localTime(since)}: ${reason}. ${sentence(capital(remedy))}`.replaceAll(
          '`',
          '',
        ),
      )}{' '}
      {reason === 'locked' && 'The command doctor names it. '}
      {waiting != null && `${counted(waiting, 'event waits', 'events wait')}. `}
      {mayAsk && isSkippable && offset !== null && (
        <Ask
          verb="Skip this batch"
          what={`offset ${offset} of ${topic}/${partition}`}
          wanted={wanted}
          warning={LOST}
          isDestructive
        />
      )}
    </li>
  )
}

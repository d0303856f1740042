import type { ServiceStatus } from '../core/batch/service-status.ts'
import { Ask, useRefusal } from './ask.tsx'
import { Tag } from './parts.tsx'
import { counted, localTime, visible } from './text.ts'
import { useData } from './use-data.ts'

const EVERY_MS = 5_000
const PARTS = { consuming: 'Receiving events', database: 'Database', lookUps: 'Contact look-ups' } as const

/** A dot for each part of the service, with the reason if it is not well, and the blocked partitions of this replica. */
export function Status() {
  const { data, problem } = useData<ServiceStatus>(['status'], {}, EVERY_MS)
  if (data === null && problem === null) return null
  const parts = Object.entries(PARTS).map(([key, name]) => ({
    name,
    fault: problem ?? data?.[key as keyof typeof PARTS] ?? null,
  }))
  const faults = parts.flatMap(({ name, fault }) => (fault === null ? [] : [`${name}: ${fault}`]))
  const blocked = data?.blocked ?? []
  return (
    <>
      <ul class="hstack unstyled" aria-label="State of the service">
        {parts.map(({ name, fault }) => (
          <li key={name} title={fault ?? 'works'}>
            <Tag tone={fault === null ? 'success' : 'danger'} sign={fault === null ? '●' : '✕'}>
              {name}
            </Tag>
          </li>
        ))}
      </ul>
      <div role="alert">
        {(problem === null ? faults : [`State unknown: ${problem}`]).map((words) => (
          <p key={words} class="notice notice-bad">
            {words}
          </p>
        ))}
        {blocked.length > 0 && (
          <details>
            <summary>{counted(blocked.length, 'blocked partition', 'blocked partitions')}</summary>
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
  const { topic, partition, offset, since, reason, remedy, isSkippable } = blocked
  const mayAsk = useRefusal() === null
  const wanted = { kind: 'skip', batch: { topic, partition, offset } }
  return (
    <li>
      {visible(`${topic}/${partition}, since ${localTime(since)}: ${reason}. ${remedy}`)}{' '}
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

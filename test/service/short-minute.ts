// node --import …: a sleep of a minute, or what a retry pass has left of it, takes a twentieth; any other is as it was.
import { syncBuiltinESMExports } from 'node:module'
import timers from 'node:timers/promises'

const sleep = timers.setTimeout
const isAMinute = (durationMs: number | undefined) =>
  durationMs !== undefined && durationMs > 50_000 && durationMs <= 60_000

Object.assign(timers, {
  setTimeout: (durationMs: number | undefined, ...rest: [unknown, object]) =>
    sleep(isAMinute(durationMs) ? Number(durationMs) / 20 : durationMs, ...rest),
})
syncBuiltinESMExports()

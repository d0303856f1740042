// node test/stack/with-stack.ts -- node test/mutants/main.ts
// Applies each mutant to a private copy of the project and runs its tests until one fails, or all of them with ALL=1. MUTANTS
// selects those that have this text in their name, file or tests.
import { execFileSync, spawn } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { endWithSignals } from '../stack/environment.ts'
import { type Mutant, mutate, ROOT, readMutants } from './mutants.ts'

/** Copies, with one test file at a time each. Most tests wait for a server or a clock. */
const COPY_COUNT = 3
/** Longer than any test file takes, also on a busy machine. Some mutants let a test wait without end. */
const TIMEOUT_MS = 300_000
const { MUTANTS = '', ALL = '' } = process.env

const isSelected = ({ name, file, tests }: Mutant) =>
  [name, file, ...tests].some((text) => text.includes(MUTANTS))
const runs = new Set<() => void>()
/** By test file, whether it passes without a mutant. */
const sound = new Map<string, Promise<boolean>>()
const counts = { killed: 0, survived: 0, broken: 0 }

function copyProject(number: number): string {
  const dir = join(ROOT, `.cache/mutants-${number}`)
  rmSync(dir, { recursive: true, force: true })
  mkdirSync(dir)
  for (const name of readdirSync(ROOT)) {
    const [from, to] = [join(ROOT, name), join(dir, name)]
    if (['node_modules', '.cache'].includes(name)) symlinkSync(from, to)
    else if (name !== '.git') cpSync(from, to, { recursive: true })
  }
  return dir
}

/** Runs a test file until its first failure. Returns true if it has none. */
async function passes(test: string, dir: string): Promise<boolean> {
  const env = {
    ...process.env,
    TAP_TIMEOUT: String(TIMEOUT_MS / 1_000),
    NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} --import=./test/stack/preload.ts`,
  }
  const child = spawn(process.execPath, [...process.execArgv, test], {
    cwd: dir,
    env,
    stdio: ['ignore', 'pipe', 'ignore'],
    // So that a signal ends the processes that it starts, too.
    detached: true,
  })
  const { pid } = child
  // A process that could not be started has no id: 0 would be the runner's own group.
  if (pid === undefined) throw new Error(`${test} could not be started`)
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve))
  const end = () => child.exitCode === null && child.signalCode === null && process.kill(-pid, 'SIGKILL')
  const timer = setTimeout(end, TIMEOUT_MS)
  runs.add(end)
  for await (const line of createInterface(child.stdout))
    if (/^ *not ok (?!.* # (SKIP|TODO))/.test(line)) end()
  const code = await ended
  clearTimeout(timer)
  runs.delete(end)
  return code === 0
}

/** Browsers load the console as it is built, with files of other folders in it. */
function write(dir: string, { file, tests }: Mutant, text: string): void {
  writeFileSync(join(dir, file), text)
  if (tests.some((test) => test.startsWith('test/console/page/')))
    execFileSync(process.execPath, ['src/build/compile-console.ts'], { cwd: dir })
}

/** Prints who notices a mutant. */
async function judge(mutant: Mutant, dir: string): Promise<void> {
  const { name, file, tests } = mutant
  const startMs = performance.now()
  const text = readFileSync(join(dir, file), 'utf8')
  const mutated = mutate(text, mutant)
  if (mutated === null) {
    counts.broken++
    console.log(`BROKEN    ${name}: ${file} does not have this line exactly once: ${mutant.before}`)
    return
  }
  const failing: string[] = []
  const passing: string[] = []
  for (const test of tests) {
    const isSound = sound.get(test) ?? passes(test, dir)
    sound.set(test, isSound)
    if (!(await isSound)) {
      counts.broken++
      console.log(`BROKEN    ${name}: ${test} fails without it`)
      return
    }
    write(dir, mutant, mutated)
    const isNoticed = !(await passes(test, dir))
    write(dir, mutant, text)
    ;(isNoticed ? failing : passing).push(test)
    if (isNoticed && !ALL) break
  }
  const isKilled = failing.length > 0 && (!ALL || passing.length === 0)
  counts[isKilled ? 'killed' : 'survived']++
  const seconds = ((performance.now() - startMs) / 1_000).toFixed(1).padStart(5)
  console.log(`${isKilled ? 'killed   ' : 'SURVIVED '} ${seconds} s  ${name} (${file})`)
  for (const test of failing) console.log(`            noticed by ${test}`)
  for (const test of passing) console.log(`            NOT by     ${test}`)
}

process.on('exit', () => {
  for (const end of runs) end()
})
endWithSignals()
const startMs = performance.now()
const waiting = readMutants().filter(isSelected)
if (waiting.length === 0) throw new Error(`no mutant has "${MUTANTS}" in its name, file or tests`)
async function judgeAll(dir: string): Promise<void> {
  for (let mutant = waiting.shift(); mutant !== undefined; mutant = waiting.shift()) await judge(mutant, dir)
}
await Promise.all(Array.from({ length: COPY_COUNT }, (_, i) => judgeAll(copyProject(i + 1))))
const minutes = ((performance.now() - startMs) / 60_000).toFixed(1)
console.log(`${counts.killed} killed, ${counts.survived} survived, ${counts.broken} broken; ${minutes} min`)
process.exitCode = counts.killed === 0 || counts.survived + counts.broken > 0 ? 1 : 0

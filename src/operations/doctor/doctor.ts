import { type Config, ConfigError, loadConfig } from '../../service/config/config.ts'
import { variables } from '../../service/config/variables.ts'
import { counted } from '../../service/text/count.ts'
import { CodedError } from '../../service/text/error-codes.ts'
import { errorMessage } from '../../service/text/faults.ts'
import { withTimeout } from '../../service/time/with-timeout.ts'
import { newCommand } from '../../terminal/options.ts'
import { print } from '../../terminal/print.ts'
import type { World } from '../../terminal/world.ts'
import { CHECKS } from './checks.ts'
import { type Check, chooseRemedy, type Options } from './remedies.ts'

export const doctorCommand = (world: World) =>
  newCommand('doctor', {
    exitCodes: '0 all checks passed (a warning is no failure), 1 a check failed',
    example: 'doctor --json | jq .checks',
  })
    .description(
      'check everything that the service needs, and name a remedy for each problem; change nothing',
    )
    .option('--json', 'print one JSON object instead of text')
    .option('--token <file>', 'also check the token in this file as the API would')
    .action((options: { json?: boolean } & Options) => doctor(world, options))

type Env = Readonly<Record<string, string | undefined>>

interface Result {
  readonly name: string
  /** `skipped`: not configured, or blocked by another problem. */
  readonly status: 'ok' | 'warning' | 'failed' | 'skipped'
  readonly detail: string
  readonly remedy: string | null
}

const CHECK_MAX_MS = 15_000

async function doctor(
  world: World,
  { json = false, ...options }: { json?: boolean } & Options,
): Promise<void> {
  const results: Result[] = []
  for await (const result of diagnose(world.env, options)) {
    results.push(result)
    if (!json) await print(world, formatResult(result))
  }
  const count = (wanted: Result['status']) => results.filter(({ status }) => status === wanted).length
  const [failedCount, warningCount] = [count('failed'), count('warning')]
  const ok = failedCount === 0
  const summary = json
    ? JSON.stringify({ ok, checks: results }, null, 2)
    : `${ok ? 'All checks passed' : `${counted(failedCount, 'check')} failed`}${warningCount === 0 ? '' : ', with warnings'}.`
  await print(world, summary)
  // Exits at once, since a timed-out check may still have open connections.
  await new Promise((written) => world.stdout.write('', written))
  world.exit(ok ? 0 : 1)
}

async function* diagnose(env: Env, options: Options): AsyncGenerator<Result> {
  const { config, result, faulty } = checkConfiguration(env)
  yield result
  /** Checks that failed, or were skipped because another one failed. */
  const failed = new Set<string>()
  for (const check of CHECKS) {
    const { name, prefix, after = [] } = check
    const missing = after.find((other) => failed.has(other))
    const isFaulty = faulty.some((variable) => variable.startsWith(prefix))
    const awaited = isFaulty
      ? `the ${prefix}… variables are correct`
      : missing && `the ${missing} check passes`
    const checked: Result =
      awaited === undefined
        ? await runCheck(check, config, options)
        : { name, status: 'skipped', detail: `not checked until ${awaited}`, remedy: null }
    if (awaited !== undefined || checked.status === 'failed') failed.add(name)
    yield checked
  }
}

/** The configuration, without the groups of faulty variables, so that the other checks can run. */
function checkConfiguration(env: Env): { config: Config; result: Result; faulty: readonly string[] } {
  const name = 'configuration'
  try {
    const config = loadConfig(env)
    const detail = ['valid', ...config.warnings].join('\n')
    const result: Result =
      config.warnings.length === 0
        ? { name, status: 'ok', detail, remedy: null }
        : { name, status: 'warning', detail, remedy: 'set what is missing, or remove what has no effect' }
    return { config, faulty: [], result }
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    const { variables: faulty, message: detail } = error
    const groups = faulty.map((variable) => `${variable.split('_')[0]}_`)
    const correct = Object.entries(env).filter(
      ([variable]) => !faulty.includes(variable) && !groups.some((group) => variable.startsWith(group)),
    )
    const config = loadConfig({ ...required(), ...Object.fromEntries(correct) })
    return { config, faulty, result: { name, status: 'failed', detail, remedy: 'correct these variables' } }
  }
}

function required(): Env {
  const names = ['DATABASE_URL', 'MQ_BROKERS', 'POLICY_ADMIN_URL'] as const
  return Object.fromEntries(names.map((name) => [name, String(variables.shape[name].meta()?.example)]))
}

async function runCheck(check: Check, config: Config, options: Options): Promise<Result> {
  const { name } = check
  try {
    const found = await withTimeout(CHECK_MAX_MS, check.run(config, options), () => {
      throw new CodedError('ETIMEDOUT', `no response within ${CHECK_MAX_MS / 1_000} s`)
    })
    if (found === null)
      return { name, status: 'skipped', detail: 'not configured, or not asked for', remedy: null }
    if (typeof found === 'string') return { name, status: 'ok', detail: found, remedy: null }
    return { name, status: 'warning', detail: found.warning, remedy: found.remedy }
  } catch (error) {
    return { name, status: 'failed', detail: describeCauses(error), remedy: chooseRemedy(check, error) }
  }
}

/** The messages of an error and its causes, each once. */
function describeCauses(error: unknown): string {
  const words: string[] = []
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const inner = cause instanceof AggregateError ? cause.errors.map(errorMessage) : []
    for (const word of [cause.message, ...inner]) {
      if (word !== '' && !words.some((known) => known.includes(word))) words.push(word)
    }
  }
  return words.join(': ') || String(error)
}

function formatResult({ name, status, detail, remedy }: Result): string {
  const indent = ' '.repeat(33)
  const lines = [detail.replaceAll('\n', `\n${indent}`), ...(remedy === null ? [] : [`${indent}→ ${remedy}`])]
  return `${status.padEnd(9)}${name.padEnd(24)}${lines.join('\n')}`
}

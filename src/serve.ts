import type { Logger } from 'pino'
import type { DescribeChange } from './service/app/activation.ts'
import { type App, createApp } from './service/app/app.ts'
import { readRuleFiles } from './service/app/rule-files.ts'
import { type Config, loadConfig } from './service/config/config.ts'
import { judgeMemory } from './service/config/memory.ts'
import { PromisesError, RuleTableError } from './service/decide/rules/table-errors.ts'
import type { Senders } from './service/send/send.ts'
import { createLog } from './service/telemetry/log.ts'
import { createLogOutput } from './service/telemetry/log-output.ts'
import { newCommand } from './terminal/options.ts'
import { stopOnSignals } from './terminal/stop-on-signals.ts'
import type { World } from './terminal/world.ts'

export const serveCommand = ({ env }: World) =>
  newCommand('serve', {
    exitCodes: '0 stopped in order by a signal, 1 cannot continue or did not stop in time',
    example: 'serve',
  })
    .description('consume events, retry failed notifications and serve HTTP until stopped')
    .action(() => serve(env))

/**
 * The service, with authoring and console loaded on demand. Rejects with all faults if the rule table, its promises or the envelope
 * map cannot be used.
 */
export async function createService(config: Config, log: Logger, senders?: Senders): Promise<App> {
  const ruleFiles = await readRuleFiles().catch(explainFaults)
  const describeChange: DescribeChange = async (...change) =>
    (await import('./authoring/diff/describe-change.ts')).describeTableChange(...change)
  const openConsole =
    config.management === null ? null : (await import('./console/routes/console.ts')).openConsole
  return createApp(config, log, ruleFiles, { openConsole, describeChange }, senders)
}

/** Adds the authors' explanation and remedy to a fault of the rules. */
async function explainFaults(error: unknown): Promise<never> {
  if (error instanceof RuleTableError || error instanceof PromisesError)
    await (await import('./authoring/check/compile-table.ts')).requireNoFaults()
  throw error
}

async function serve(env: World['env']): Promise<void> {
  const config = loadConfig(env)
  const output = createLogOutput()
  const log = createLog(config.logLevel, output)
  let app: App | null = null
  stopOnSignals(() => app, config.shutdownGraceMs, log, output.exit)
  for (const warning of config.warnings) log.warn(warning)
  for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
    process.on(event, (err) => {
      log.fatal({ err }, `${event}: exiting; the running batch is not committed and will be redelivered`)
      process.exit(1)
    })
  }
  logWarnings(log)
  if (!process.execArgv.some((option) => option.startsWith('--heap-growing-percent')))
    log.info(
      "memory is limited only by Node's defaults; start src/main.ts directly to apply the limits in src/deploy/README.md",
    )
  const memoryFault = judgeMemory(process.constrainedMemory())
  if (memoryFault !== null) log.warn(memoryFault)
  app = await createService(config, log)
  const url = await app.start()
  log.info({ url }, 'listening')
  if (config.tokens === null) log.warn('all routes are open: set IDP_JWKS_URI to require tokens')
}

/** Sends Node's own warnings to the log instead of stderr. */
function logWarnings(log: Logger): void {
  process.removeAllListeners('warning')
  process.on('warning', (warning) => {
    log.warn({ err: warning }, `warning: ${warning.message}`)
  })
}

/** The table of contents. Each command loads its own modules, which can take half a second. */
export const COMMANDS = {
  serve: async () => (await import('./serve.ts')).serveCommand,
  migrate: async () => (await import('./operations/migrate/migrate.ts')).migrateCommand,
  replay: async () => (await import('./operations/replay/replay.ts')).replayCommand,
  audit: async () => (await import('./operations/audit/audit.ts')).auditCommand,
  rules: async () => (await import('./authoring/rules.ts')).rulesCommand,
  templates: async () => (await import('./authoring/templates/templates.ts')).templatesCommand,
  rejected: async () => (await import('./operations/rejected/rejected.ts')).rejectedCommand,
  openapi: async () => (await import('./operations/openapi/openapi.ts')).openapiCommand,
  doctor: async () => (await import('./operations/doctor/doctor.ts')).doctorCommand,
  why: async () => (await import('./operations/why/why.ts')).whyCommand,
  log: async () => (await import('./operations/log/log.ts')).logCommand,
  requests: async () => (await import('./operations/requests/requests.ts')).requestsCommand,
  retry: async () => (await import('./operations/requests/retry.ts')).retryCommand,
  export: async () => (await import('./operations/export/export.ts')).exportCommand,
  erase: async () => (await import('./operations/erase/erase.ts')).eraseCommand,
  prune: async () => (await import('./operations/prune/prune.ts')).pruneCommand,
}

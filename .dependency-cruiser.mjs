/**
 * Three wings and the console. Imports run one way: main -> operations, authoring, console -> service. main and serve alone put them
 * together. Inside service, rooms for outside systems import the pure rooms (decide, model, text, time) and types of config.
 */
const pure = 'service/(decide|model|text|time)'
/** Every folder of service is a room for an outside system unless it is named here: a new one is apart from the start. */
const notRooms = '^src/service/(app|attempt|config|decide|model|text|time)/'

export default {
  forbidden: [
    {
      name: 'pure-rooms-have-no-io',
      comment: 'No I/O, no clock, no randomness: no platform module.',
      severity: 'error',
      from: { path: `^src/${pure}/` },
      to: { dependencyTypes: ['core'] },
    },
    {
      name: 'pure-rooms-stand-alone',
      severity: 'error',
      from: { path: `^src/${pure}/` },
      to: { path: '^src/', pathNot: `^src/${pure}/` },
    },
    {
      name: 'text-and-time-know-each-other-alone',
      comment: 'They lie below decide and model, which use them.',
      severity: 'error',
      from: { path: '^src/service/(text|time)/' },
      to: { path: '^src/', pathNot: '^src/service/(text|time)/' },
    },
    {
      name: 'service-knows-no-other-wing',
      severity: 'error',
      from: { path: '^src/service/' },
      to: { path: '^src/(?!service/)', pathNot: '^src/generated/' },
    },
    {
      name: 'generated-knows-templates-only',
      severity: 'error',
      from: { path: '^src/generated/' },
      to: { path: '^src/', pathNot: `^src/(${pure}|generated)/` },
    },
    {
      name: 'rooms-know-pure-rooms-and-types-of-config',
      comment: 'Rooms never import each other: what two share is pure, what joins them belongs to app/.',
      severity: 'error',
      from: { path: '^src/service/([^/]+)/', pathNot: notRooms },
      to: { path: '^src/', pathNot: `^src/(service/($1|config)|${pure})/` },
    },
    {
      name: 'of-config-rooms-know-types-only',
      severity: 'error',
      from: { path: '^src/service/([^/]+)/', pathNot: notRooms },
      to: { path: '^src/service/config/', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'config-and-attempt-know-pure-rooms-only',
      comment: 'An attempt takes what it needs as arguments.',
      severity: 'error',
      from: { path: '^src/service/(config|attempt)/' },
      to: { path: '^src/', pathNot: `^src/(service/$1|${pure})/` },
    },
    {
      name: 'only-composition-imports-app',
      severity: 'error',
      from: { path: '^src/service/', pathNot: '^src/service/app/' },
      to: { path: '^src/service/app/' },
    },
    {
      name: 'wings-know-the-service-and-pure-parts-of-each-other',
      comment:
        'The console shows what authors and operators get: it imports their parts, and they know nothing of it.',
      severity: 'error',
      from: { path: '^src/(authoring|operations|terminal)/' },
      to: { path: '^src/(console|main\\.ts|serve\\.ts|commands\\.ts|build)' },
    },
    {
      name: 'terminal-knows-the-service-alone',
      severity: 'error',
      from: { path: '^src/terminal/' },
      to: { path: '^src/(authoring|operations|console)/' },
    },
    {
      name: 'build-knows-no-server',
      severity: 'error',
      from: { path: '^src/build/' },
      to: { path: '^src/', pathNot: `^src/(build|authoring|service/config|${pure}|generated)/` },
    },
    {
      name: 'only-the-entry-at-the-root',
      severity: 'error',
      from: {},
      to: { path: '^src/(?!(main|serve|commands)\\.ts$)[^/]+\\.tsx?$' },
    },
    {
      name: 'tracing-is-loaded-on-demand',
      comment: 'Without OTEL_ENDPOINT nothing of the library is loaded, and nothing of it runs.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/service/telemetry/tracing\\.ts$' },
      to: {
        path: '^src/service/telemetry/tracing\\.ts$|node_modules/@opentelemetry/',
        dynamic: false,
        dependencyTypesNot: ['type-only'],
      },
    },
    {
      name: 'no-placeholder-uses-a-network',
      severity: 'error',
      from: { path: '^src/service/send/placeholders\\.ts$' },
      to: { dependencyTypes: ['core', 'npm'], pathNot: 'node_modules/pino/' },
    },
    {
      name: 'nothing-imports-the-entry',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: '^src/main\\.ts$' },
    },
    {
      name: 'src-knows-no-tests',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: '^test/' },
    },
    {
      name: 'the-judge-stands-alone',
      comment: 'What chaos compares the service with shares no line with it.',
      severity: 'error',
      from: { path: '^test/chaos/(check|truth|parties|snapshot)\\.ts$' },
      to: { path: '^src/' },
    },
    {
      name: 'properties-have-a-seed',
      severity: 'error',
      from: { path: '^test/', pathNot: '^test/stack/properties\\.ts$' },
      to: { path: 'node_modules/fast-check/' },
    },
    {
      name: 'no-cycles',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'no-cycles-between-pure-folders',
      severity: 'error',
      scope: 'folder',
      from: { path: '^src/service/(decide|model|text|time|store)/' },
      to: { circular: true },
    },
    { name: 'no-unresolved', severity: 'error', from: {}, to: { couldNotResolve: true } },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    detectProcessBuiltinModuleCalls: true,
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default', 'types'],
    },
  },
}

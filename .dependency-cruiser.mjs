/** Imports run one way: main → commands → app → pipeline, rooms and config → core. */
/** Every folder of src is a room unless it is named here: a new one is apart from the start. */
const notRooms = '^src/(app|build|commands|config|core|generated|pipeline)/'

export default {
  forbidden: [
    {
      name: 'core-is-pure',
      comment: 'The core imports no platform module: no I/O, no clock, no randomness.',
      severity: 'error',
      from: { path: '^src/core/' },
      to: { dependencyTypes: ['core'] },
    },
    {
      name: 'core-stands-alone',
      comment: 'The core imports only itself and what is generated.',
      severity: 'error',
      from: { path: '^src/core/' },
      to: { path: '^src/', pathNot: '^src/(core|generated)/' },
    },
    {
      name: 'generated-knows-core-only',
      severity: 'error',
      from: { path: '^src/generated/' },
      to: { path: '^src/', pathNot: '^src/(core|generated)/' },
    },
    {
      name: 'rooms-know-core-and-types-of-config',
      comment: 'Rooms never import each other: what two share belongs to the core, what joins them to app/.',
      severity: 'error',
      from: { path: '^src/([^/]+)/', pathNot: notRooms },
      to: { path: '^src/', pathNot: '^src/($1|core|generated|config)/' },
    },
    {
      name: 'of-config-rooms-know-types-only',
      severity: 'error',
      from: { path: '^src/([^/]+)/', pathNot: notRooms },
      to: { path: '^src/config/', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'config-and-pipeline-know-core-only',
      comment: 'The pipeline takes what it needs as arguments.',
      severity: 'error',
      from: { path: '^src/(config|pipeline)/' },
      to: { path: '^src/', pathNot: '^src/(core|$1)/' },
    },
    {
      name: 'nothing-below-imports-app-or-commands',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(main\\.ts$|commands/|app/|build/)' },
      to: { path: '^src/(app|commands|build)/' },
    },
    {
      name: 'build-knows-core-and-config-only',
      severity: 'error',
      from: { path: '^src/build/' },
      to: { path: '^src/', pathNot: '^src/(build|core|config|generated)/' },
    },
    {
      name: 'only-main-at-the-root',
      severity: 'error',
      from: {},
      to: { path: '^src/(?!main\\.ts$)[^/]+\\.tsx?$' },
    },
    {
      name: 'app-imports-no-command',
      comment:
        'Each command puts together what it needs; what two of them share belongs to commands/terminal or app/.',
      severity: 'error',
      from: { path: '^src/app/' },
      to: { path: '^src/(commands|build)/' },
    },
    {
      name: 'tracing-is-loaded-on-demand',
      comment: 'Without OTEL_ENDPOINT nothing of the library is loaded, and nothing of it runs.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/telemetry/tracing\\.ts$' },
      to: {
        path: '^src/telemetry/tracing\\.ts$|node_modules/@opentelemetry/',
        dynamic: false,
        dependencyTypesNot: ['type-only'],
      },
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
      name: 'no-cycles',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'no-cycles-between-folders-of-core-and-postgres',
      severity: 'error',
      scope: 'folder',
      from: { path: '^src/(core|postgres)/' },
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

/**
 * This process's variables, without the test runner's, as a program started from a terminal would have them.
 */
export function shellEnvironment(): NodeJS.ProcessEnv {
  const names = Object.keys(process.env).filter(
    (name) => !/^(npm_|VITEST|NODE_(?!(EXTRA_CA_CERTS|COMPILE_CACHE)$)|APP_|HOST$|PORT$|TEST$|DEV$|PROD$)/.test(name),
  );
  return Object.fromEntries(names.map((name) => [name, process.env[name]]));
}

// What tsc and prettier cannot see. Rules that need types are left out: tsc is strict, and they
// take ten times as long as all others together.

import js from "@eslint/js";
import { defineConfig } from "eslint/config";
import hooks from "eslint-plugin-react-hooks";
import typescript from "typescript-eslint";

export default defineConfig(js.configs.recommended, typescript.configs.strict, {
  plugins: { "react-hooks": hooks },
  rules: {
    eqeqeq: ["error", "always", { null: "ignore" }],
    "react-hooks/rules-of-hooks": "error",
    // tsc reports them
    "no-undef": "off",
    "@typescript-eslint/no-unused-vars": "off",
  },
});

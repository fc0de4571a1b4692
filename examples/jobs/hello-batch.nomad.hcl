# A batch job: it runs once, says so and exits with 0.
job "hello-batch" {
  datacenters = ["*"]
  type        = "batch"

  group "once" {
    task "greet" {
      driver = "raw_exec"

      config {
        command = "/bin/sh"
        args    = ["-c", "echo \"hello from allocation $NOMAD_SHORT_ALLOC_ID\""]
      }

      resources {
        cpu    = 20
        memory = 16
      }
    }
  }
}

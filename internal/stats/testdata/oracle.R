# Reads a case a line, and prints what base R makes of it: what it has a function for by that function, the score
# intervals by searching the likelihood that the Go code solves.

numbers <- function(word) as.numeric(strsplit(word, ",")[[1]])

# tables returns the counts of an arm each as a 2x2xK array: base passed, head passed, and their trials.
tables <- function(a, n, b, m) array(rbind(b, m - b, a, n - a), dim = c(2, 2, length(a)))

mh <- function(a, n, b, m) {
  p <- sapply(c("less", "greater"), function(side)
    mantelhaen.test(tables(a, n, b, m), alternative = side, exact = TRUE)$p.value)
  min(1, 2 * min(p))
}

edge <- function(refused, seen, end) {
  if (refused(end) <= 0) return(end)
  lo <- seen; hi <- end
  for (i in 1:60) { mid <- (lo + hi) / 2; if (refused(mid) <= 0) lo <- mid else hi <- mid }
  lo
}

loglik <- function(x, n, p) (if (x > 0) x * log(p) else 0) + (if (x < n) (n - x) * log(1 - p) else 0)

# stratified is the interval of Miettinen and Nurminen with equal weights.
stratified <- function(a, n, b, m) {
  z <- qnorm(.975); k <- length(a); seen <- mean(a / n - b / m)
  refused <- function(d) {
    v <- 0
    for (i in 1:k) {
      lo <- max(0, -d); hi <- min(1, 1 - d)
      q <- if (hi - lo < 1e-13) lo else optimize(function(q) loglik(a[i], n[i], q + d) + loglik(b[i], m[i], q),
        c(lo, hi), maximum = TRUE, tol = 1e-12)$maximum
      ends <- c(lo, hi)
      at <- sapply(c(q, ends), function(q) loglik(a[i], n[i], min(1, max(0, q + d))) + loglik(b[i], m[i], q))
      q <- c(q, ends)[which.max(at)]
      p <- q + d
      v <- v + (p * (1 - p) / n[i] + q * (1 - q) / m[i]) * (n[i] + m[i]) / (n[i] + m[i] - 1)
    }
    abs(seen - d) - z * sqrt(max(0, v)) / k
  }
  c(edge(refused, seen, -1), edge(refused, seen, 1))
}

# paired is the interval of Tango.
paired <- function(a, b) {
  z <- qnorm(.975); n <- length(a); up <- sum(a > b); down <- sum(a < b); seen <- (up - down) / n
  refused <- function(d) {
    lo <- max(0, -d); hi <- (1 - d) / 2
    f <- function(q) (if (down > 0) down * log(q) else 0) + (if (up > 0) up * log(q + d) else 0) +
      (if (n > up + down) (n - up - down) * log(1 - 2 * q - d) else 0)
    q <- if (hi - lo < 1e-13) lo else {
      q <- optimize(f, c(lo, hi), maximum = TRUE, tol = 1e-12)$maximum
      all <- c(q, lo, hi); all[which.max(sapply(all, f))]
    }
    abs(seen - d) - z * sqrt(max(0, 2 * q + d * (1 - d)) / n)
  }
  c(edge(refused, seen, -1), edge(refused, seen, 1))
}

for (line in readLines(file("stdin"))) {
  words <- strsplit(line, " ")[[1]]
  x <- lapply(words[-1], numbers)
  out <- switch(words[1],
    mh = mh(x[[1]], x[[2]], x[[3]], x[[4]]),
    stratified = stratified(x[[1]], x[[2]], x[[3]], x[[4]]),
    paired = paired(x[[1]], x[[2]]),
    fisher = fisher.test(matrix(x[[1]], 2))$p.value,
    wilson = prop.test(x[[1]][1], x[[1]][2], correct = FALSE)$conf.int,
    holm = p.adjust(x[[1]], "holm"),
    bh = p.adjust(x[[1]], "BH"),
    t = { r <- t.test(x[[1]]); c(r$estimate, r$stderr, r$p.value, r$conf.int) },
    normal = c(qnorm((1 + x[[1]][1]) / 2), 2 * pt(-x[[1]][2], x[[1]][3])))
  cat(sprintf("%.12g", out), "\n")
}
